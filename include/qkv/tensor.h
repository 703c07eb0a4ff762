// Tensor: a cheap handle to a block of numbers and, in training, to the
// operation that made it. Copying a Tensor copies the handle, not the numbers.
// Members throw Error (input), naming shape and dtype, where the tensor is
// undefined or holds something else than is asked for. Several threads may read
// one tensor; writing is for one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "qkv/dtype.h"
#include "qkv/export.h"
#include "qkv/shape.h"

namespace qkv {

struct TensorImpl;
using Strides = std::array<std::int64_t, kMaxRank>;  // in elements

class QKV_API Tensor {
 public:
  Tensor() noexcept = default;  // undefined: no shape, no numbers
  Tensor(const Tensor& other) noexcept;
  Tensor(Tensor&& other) noexcept : impl_(other.impl_) {
    other.impl_ = nullptr;
  }
  Tensor& operator=(const Tensor& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor();

  // Memory comes from the caching allocator, 64-byte aligned, row-major.
  static Tensor empty(const Shape& shape, DType dtype = DType::f32);
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32);
  static Tensor full(const Shape& shape, double value,
                     DType dtype = DType::f32);
  static Tensor scalar(double value, DType dtype = DType::f32);
  // Copies the values; throws unless their number is shape.numel().
  template <class T>
  static Tensor from(const Shape& shape, std::span<const T> values) {
    return copy_of(values.data(), values.size(), shape, DTypeOf<T>::value);
  }
  template <class T>
  static Tensor from(const Shape& shape, std::initializer_list<T> values) {
    return from(shape, std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor from(const Shape& shape, const std::vector<T>& values) {
    return from(shape, std::span<const T>(values));
  }
  // Uses the caller's row-major memory, aligned to the element (else it
  // throws); release, if given, runs when the last handle goes. The caller
  // keeps it alive until then.
  static Tensor wrap(void* data, const Shape& shape, DType dtype,
                     std::function<void()> release = {});

  bool defined() const noexcept { return impl_ != nullptr; }
  explicit operator bool() const noexcept { return defined(); }

  const Shape& shape() const;
  std::int64_t dim(int i) const { return shape().dim(i); }
  int rank() const { return shape().rank(); }
  std::int64_t numel() const { return shape().numel(); }
  DType dtype() const;
  std::int64_t stride(int i) const;  // in elements; negative i from the end
  bool contiguous() const;           // row-major without gaps

  // The first element. T must be the dtype's type; an error says both.
  template <class T>
  T* data() {
    return static_cast<T*>(checked_data(DTypeOf<T>::value));
  }
  template <class T>
  const T* data() const {
    return static_cast<const T*>(checked_data(DTypeOf<T>::value));
  }
  void* raw();
  const void* raw() const;

  // The one element of a tensor with numel() == 1, as double.
  double item() const;
  // All elements in row-major order, whatever the strides.
  template <class T>
  std::vector<T> to_vector() const {
    std::vector<T> values(static_cast<std::size_t>(numel()));
    copy_to(values.data(), DTypeOf<T>::value);
    return values;
  }

  // These make tensors without history: no gradient flows through them, and
  // asking for it throws (qkv::contiguous in ops.h is the differentiable one).
  Tensor to(DType dtype) const;  // converts, rounding to nearest even; a copy
  Tensor clone() const;          // a contiguous copy
  Tensor detach() const;         // the same memory, without history
  void copy_from(const Tensor& source);  // same shape; converts; in place
  void fill(double value);               // in place
  // Every handle to this tensor now sees its values in another dtype, in new
  // memory; the gradient is dropped. For leaves only.
  void convert_in_place(DType dtype);

  // Gradients. Only f32 and f64 tensors can require them.
  bool requires_grad() const;
  // Makes this a leaf whose gradient backward() accumulates into grad().
  Tensor& set_requires_grad(bool on = true);
  Tensor grad() const;  // undefined before the first backward
  void set_grad(const Tensor& grad);
  void zero_grad();  // grad() becomes undefined

  // Two handles to the same memory at the same place: a tied parameter.
  bool same_storage(const Tensor& other) const noexcept;

  // The library's own access.
  TensorImpl* impl() const noexcept { return impl_; }
  static Tensor adopt(TensorImpl* impl) noexcept;  // takes over one reference

 private:
  static Tensor copy_of(const void* data, std::size_t count, const Shape& shape,
                        DType dtype);
  void* checked_data(DType dtype) const;
  void copy_to(void* target, DType dtype) const;

  TensorImpl* impl_ = nullptr;
};

// A parameter of a model, or a tensor of a file.
struct NamedTensor {
  std::string name;  // "attn.qkv.weight", as PyTorch's state_dict has it
  Tensor tensor;
  bool table = false;  // an embedding's: rows are looked up, not multiplied
};

}  // namespace qkv
