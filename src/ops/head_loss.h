// How head_loss cuts its rows.
#pragma once

#include <cstdint>

namespace qkv {

// Rows whose logits exist at once.
std::int64_t head_loss_chunk(std::int64_t classes);

}  // namespace qkv
