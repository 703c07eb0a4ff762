#include "qkv/tensor.h"

#include <cstring>

#include "core/allocator.h"
#include "core/check.h"
#include "core/convert.h"
#include "core/tensor_impl.h"

namespace qkv {
namespace {

const TensorImpl& defined(const TensorImpl* impl) {
  if (!impl) fail_input("the tensor is undefined");
  return *impl;
}

Tensor allocate(const Shape& shape, DType dtype) {
  const std::int64_t bytes = checked_multiply(
      shape.numel(), static_cast<std::int64_t>(size_of(dtype)));
  auto storage = Ref<Storage>::adopt(new Storage);
  storage->data = allocate_bytes(static_cast<std::size_t>(bytes));
  storage->bytes = static_cast<std::size_t>(bytes);
  auto* impl = new TensorImpl;
  impl->storage = std::move(storage);
  impl->shape = shape;
  impl->strides = row_major(shape);
  impl->dtype = dtype;
  return Tensor::adopt(impl);
}

}  // namespace

void Storage::destroy(Storage* storage) noexcept {
  if (storage->owned)
    free_bytes(storage->data, storage->bytes);
  else if (storage->release)
    storage->release();
  delete storage;
}

Strides row_major(const Shape& shape) {
  Strides strides{};
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

Tensor view_of(const Tensor& x, const Shape& shape, const Strides& strides,
               std::int64_t offset) {
  auto* impl = new TensorImpl;
  impl->storage = x.impl()->storage;
  impl->offset = x.impl()->offset + offset;
  impl->shape = shape;
  impl->strides = strides;
  impl->dtype = x.impl()->dtype;
  return Tensor::adopt(impl);
}

Tensor::Tensor(const Tensor& other) noexcept : impl_(other.impl_) {
  retain(impl_);
}
Tensor& Tensor::operator=(const Tensor& other) noexcept {
  retain(other.impl_);
  release(impl_);
  impl_ = other.impl_;
  return *this;
}
Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this != &other) {
    TensorImpl* old = impl_;
    impl_ = other.impl_;
    other.impl_ = nullptr;
    release(old);
  }
  return *this;
}
Tensor::~Tensor() { release(impl_); }

Tensor Tensor::adopt(TensorImpl* impl) noexcept {
  Tensor tensor;
  tensor.impl_ = impl;
  return tensor;
}

Tensor Tensor::empty(const Shape& shape, DType dtype) {
  return allocate(shape, dtype);
}

Tensor Tensor::zeros(const Shape& shape, DType dtype) {
  Tensor tensor = allocate(shape, dtype);
  std::memset(tensor.raw(), 0, tensor.impl_->storage->bytes);
  return tensor;
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype) {
  Tensor tensor = allocate(shape, dtype);
  tensor.fill(value);
  return tensor;
}

Tensor Tensor::scalar(double value, DType dtype) {
  return full(Shape(), value, dtype);
}

Tensor Tensor::copy_of(const void* data, std::size_t count, const Shape& shape,
                       DType dtype) {
  if (static_cast<std::int64_t>(count) != shape.numel())
    fail_input("{} values do not fill shape {}", count, shape.str());
  Tensor tensor = allocate(shape, dtype);
  if (count > 0) std::memcpy(tensor.raw(), data, count * size_of(dtype));
  return tensor;
}

Tensor Tensor::wrap(void* data, const Shape& shape, DType dtype,
                    std::function<void()> release) {
  if (!data && shape.numel() > 0)
    fail_input("[wrap] no memory given for shape {}", shape.str());
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) != 0)
    fail_input("[wrap] the memory is not aligned for {}", name_of(dtype));
  const std::int64_t bytes = checked_multiply(
      shape.numel(), static_cast<std::int64_t>(size_of(dtype)));
  auto storage = Ref<Storage>::adopt(new Storage);
  storage->data = data;
  storage->bytes = static_cast<std::size_t>(bytes);
  storage->owned = false;
  storage->release = std::move(release);
  auto* impl = new TensorImpl;
  impl->storage = std::move(storage);
  impl->shape = shape;
  impl->strides = row_major(shape);
  impl->dtype = dtype;
  return adopt(impl);
}

const Shape& Tensor::shape() const { return qkv::defined(impl_).shape; }
DType Tensor::dtype() const { return qkv::defined(impl_).dtype; }

std::int64_t Tensor::stride(int i) const {
  const TensorImpl& t = qkv::defined(impl_);
  return t.strides[t.shape.axis(i)];
}

bool Tensor::contiguous() const {
  const TensorImpl& t = qkv::defined(impl_);
  if (t.shape.numel() == 0) return true;
  std::int64_t step = 1;
  for (int i = t.shape.rank() - 1; i >= 0; --i) {
    if (t.shape[i] != 1 && t.strides[i] != step) return false;
    step *= t.shape[i];
  }
  return true;
}

void* Tensor::raw() {
  qkv::defined(impl_);
  return impl_->bytes();
}
const void* Tensor::raw() const {
  qkv::defined(impl_);
  return impl_->bytes();
}

void* Tensor::checked_data(DType dtype) const {
  const TensorImpl& t = qkv::defined(impl_);
  if (t.dtype != dtype)
    fail_input("the tensor {} holds {}, not {}", t.shape.str(),
               name_of(t.dtype), name_of(dtype));
  return t.bytes();
}

void Tensor::copy_to(void* target, DType dtype) const {
  const TensorImpl& t = qkv::defined(impl_);
  if (t.shape.numel() == 0) return;
  convert(t.bytes(), t.dtype, t.shape, t.strides, target, dtype,
          row_major(t.shape));
}

double Tensor::item() const {
  if (numel() != 1)
    fail_input("[item] shape {} is not one number", shape().str());
  double value;
  copy_to(&value, DType::f64);
  return value;
}

Tensor Tensor::to(DType dtype) const {
  Tensor result = allocate(shape(), dtype);
  copy_to(result.raw(), dtype);
  return result;
}

Tensor Tensor::clone() const { return to(dtype()); }

Tensor Tensor::detach() const {
  const TensorImpl& t = qkv::defined(impl_);
  return view_of(*this, t.shape, t.strides);
}

void Tensor::copy_from(const Tensor& source) {
  if (source.shape() != shape())
    fail_input("[copy_from] source {} does not match {}", source.shape().str(),
               shape().str());
  if (numel() == 0) return;
  convert(source.raw(), source.dtype(), shape(), source.impl_->strides, raw(),
          dtype(), impl_->strides);
}

void Tensor::fill(double value) {
  if (numel() == 0) return;
  convert(&value, DType::f64, shape(), Strides{}, raw(), dtype(),
          impl_->strides);
}

void Tensor::convert_in_place(DType dtype) {
  if (qkv::defined(impl_).node)
    fail_input("[convert_in_place] the tensor was made by '{}': not a leaf",
               impl_->node->name());
  const Tensor converted = to(dtype);
  impl_->storage = converted.impl_->storage;
  impl_->offset = 0;
  impl_->strides = converted.impl_->strides;
  impl_->dtype = dtype;
  impl_->grad = Tensor();
}

bool Tensor::requires_grad() const {
  const TensorImpl& t = qkv::defined(impl_);
  return t.requires_grad || t.node;
}

Tensor& Tensor::set_requires_grad(bool on) {
  qkv::defined(impl_);
  if (on && dtype() != DType::f32 && dtype() != DType::f64)
    fail_input("only f32 and f64 tensors have gradients, not {}",
               name_of(dtype()));
  if (impl_->node)
    fail_input(
        "a tensor made by '{}' has its gradient through it; detach() it "
        "to make a leaf",
        impl_->node->name());
  impl_->requires_grad = on;
  return *this;
}

Tensor Tensor::grad() const { return qkv::defined(impl_).grad; }

void Tensor::set_grad(const Tensor& grad) {
  qkv::defined(impl_);
  if (grad && (grad.shape() != shape() || grad.dtype() != dtype()))
    fail_input("[set_grad] {} {} does not match the tensor's {} {}",
               name_of(grad.dtype()), grad.shape().str(), name_of(dtype()),
               shape().str());
  // The tape adds to it in place, element by element.
  impl_->grad = grad && !grad.contiguous() ? grad.clone() : grad;
}

void Tensor::zero_grad() {
  qkv::defined(impl_);
  impl_->grad = Tensor();
}

bool Tensor::same_storage(const Tensor& other) const noexcept {
  return impl_ && other.impl_ &&
         impl_->storage.get() == other.impl_->storage.get() &&
         impl_->offset == other.impl_->offset;
}

}  // namespace qkv
