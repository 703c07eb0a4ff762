#include "models/windows.h"

namespace qkv {

Tensor id_windows(const Tensor& ids, std::int64_t count, std::int64_t context,
                  std::int64_t blank, NewestAt newest) {
  const std::int64_t batch = ids.dim(0), length = ids.dim(1);
  Tensor windows = Tensor::empty({batch, count, context}, DType::i64);
  const std::int64_t* from = ids.data<std::int64_t>();
  std::int64_t* to = windows.data<std::int64_t>();
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t t = length - count; t < length; ++t)
      for (std::int64_t k = 0; k < context; ++k) {
        const std::int64_t at =
            newest == NewestAt::front ? t - k : t - (context - 1) + k;
        *to++ = at < 0 ? blank : from[b * length + at];
      }
  return windows;
}

}  // namespace qkv
