// What a Tensor handle points at.
#pragma once

#include <functional>

#include "core/pool.h"
#include "core/ref.h"
#include "core/tape.h"
#include "qkv/tensor.h"

namespace qkv {

// A block of memory, shared by every view of it.
struct Storage : Pooled {
  std::atomic<int> references{1};
  void* data = nullptr;
  std::size_t bytes = 0;
  bool owned = true;              // by the caching allocator
  std::function<void()> release;  // of wrapped memory

  static void destroy(Storage* storage) noexcept;
};

struct TensorImpl : Pooled {
  std::atomic<int> references{1};
  Ref<Storage> storage;
  std::int64_t offset = 0;  // elements from the storage's start
  Shape shape;
  Strides strides{};
  DType dtype = DType::f32;
  bool requires_grad = false;  // a leaf that collects its gradient
  Ref<Node> node;              // what made it, if recorded
  Tensor grad;

  char* bytes() const {
    return static_cast<char*>(storage->data) +
           offset * static_cast<std::int64_t>(size_of(dtype));
  }
  static void destroy(TensorImpl* impl) noexcept { delete impl; }
};

Strides row_major(const Shape& shape);

// Another look at x's memory, without history. The caller answers for bounds.
Tensor view_of(const Tensor& x, const Shape& shape, const Strides& strides,
               std::int64_t offset = 0);

}  // namespace qkv
