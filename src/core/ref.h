// Intrusive reference counting: one pointer wide, no control block.
#pragma once

#include <atomic>
#include <utility>

namespace qkv {

// T has `std::atomic<int> references` starting at 1 and `static void
// destroy(T*)`, which is called when the last reference goes.
template <class T>
void retain(T* object) noexcept {
  if (object) object->references.fetch_add(1, std::memory_order_relaxed);
}
template <class T>
void release(T* object) noexcept {
  if (object && object->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    T::destroy(object);
}

template <class T>
class Ref {
 public:
  Ref() noexcept = default;
  Ref(const Ref& other) noexcept : object_(other.object_) { retain(object_); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { release(object_); }

  // Takes over the reference that the object was born with.
  static Ref adopt(T* object) noexcept {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  // Adds one.
  static Ref share(T* object) noexcept {
    retain(object);
    return adopt(object);
  }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  T* leave() noexcept { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

}  // namespace qkv
