#include "qkv/dtype.h"

#include <array>

namespace qkv {
namespace {

struct Description {
  std::string_view name;
  std::size_t size;
  bool floating;
};

// In the order of the enumeration.
constexpr std::array<Description, 9> kDescriptions{{
    {"f32", 4, true},
    {"f64", 8, true},
    {"bf16", 2, true},
    {"f16", 2, true},
    {"i64", 8, false},
    {"i32", 4, false},
    {"u16", 2, false},
    {"u8", 1, false},
    {"bool", 1, false},
}};

const Description& describe(DType dtype) {
  return kDescriptions[static_cast<std::size_t>(dtype)];
}

}  // namespace

std::size_t size_of(DType dtype) { return describe(dtype).size; }
std::string_view name_of(DType dtype) { return describe(dtype).name; }
bool is_floating(DType dtype) { return describe(dtype).floating; }

}  // namespace qkv
