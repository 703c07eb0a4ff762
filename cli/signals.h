// Ctrl-C and SIGTERM: the first asks a training to end after its step, the
// second ends the program at once.
#pragma once

namespace qkv::cli {

void catch_signals();
int caught_signal();  // 0, SIGINT or SIGTERM

}  // namespace qkv::cli
