#include <fmt/core.h>
#include <xxhash.h>

#include "qkv/io.h"

namespace qkv::io {

std::string checksum(std::string_view bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

std::string checksum(const Tensor& tensor) {
  const Tensor x = tensor.contiguous() ? tensor : tensor.clone();
  const std::size_t bytes =
      static_cast<std::size_t>(x.numel()) * size_of(x.dtype());
  return checksum({static_cast<const char*>(x.raw()), bytes});
}

}  // namespace qkv::io
