// Which version of a kernel runs: the plain one or the vectorised one.
#pragma once

#include <type_traits>

#include "qkv/runtime.h"

namespace qkv::kernels {

// Only f32 has vectorised versions; f64 is the reference, whatever the path.
template <class T>
bool use_fast() {
  return std::is_same_v<T, float> &&
         runtime::path() != runtime::Path::reference;
}

}  // namespace qkv::kernels
