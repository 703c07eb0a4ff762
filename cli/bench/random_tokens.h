// A data set of random tokens, for steps whose time matters and not their loss.
#pragma once

#include "qkv/data.h"

namespace qkv::cli::bench {

// ids and targets (B, block_size), uniform in [0, vocab_size).
std::unique_ptr<data::Dataset> random_tokens(std::int64_t vocab_size,
                                             std::int64_t block_size);

}  // namespace qkv::cli::bench
