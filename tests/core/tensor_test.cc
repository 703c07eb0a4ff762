#include "qkv/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "core/tensor_impl.h"
#include "qkv/error.h"
#include "qkv/runtime.h"

// Under AddressSanitizer, too, an absurd request shall fail, not end the test.
extern "C" __attribute__((visibility("default"))) const char*
__asan_default_options() {
  return "allocator_may_return_null=1";
}

namespace qkv {
namespace {

TEST(Tensor, KeepsValuesAndShape) {
  Tensor x = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(x.shape().str(), "(2,3)");
  EXPECT_EQ(x.dim(-1), 3);
  EXPECT_EQ(x.stride(0), 3);
  EXPECT_EQ(x.stride(-1), 1);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_THROW(x.data<double>(), Error);
  EXPECT_THROW(x.stride(2), Error);
  EXPECT_THROW(Tensor::from<float>({2, 3}, {1, 2}), Error);
}

TEST(Tensor, MemoryIsAlignedTo64Bytes) {
  for (std::int64_t n : {0, 1, 3, 100, 1000, 100000}) {
    Tensor x = Tensor::empty({n}, DType::u8);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.raw()) % 64, 0u) << n;
  }
}

TEST(Tensor, UndefinedOnesSayThatTheyAre) {
  Tensor x;
  EXPECT_FALSE(x.defined());
  EXPECT_THROW(x.shape(), Error);
  EXPECT_THROW(x.dtype(), Error);
  EXPECT_THROW(x.stride(0), Error);
  EXPECT_THROW(x.contiguous(), Error);
  EXPECT_THROW(x.raw(), Error);
  EXPECT_THROW(x.data<float>(), Error);
  EXPECT_THROW(x.item(), Error);
  EXPECT_THROW(x.to(DType::f64), Error);
  EXPECT_THROW(x.clone(), Error);
  EXPECT_THROW(x.detach(), Error);
  EXPECT_THROW(x.fill(0), Error);
  EXPECT_THROW(x.copy_from(Tensor::scalar(1)), Error);
  EXPECT_THROW(Tensor::scalar(1).copy_from(x), Error);
  EXPECT_THROW(x.set_requires_grad(), Error);
  EXPECT_THROW(x.set_requires_grad(false), Error);
  EXPECT_THROW(x.grad(), Error);
  EXPECT_THROW(x.zero_grad(), Error);
  EXPECT_FALSE(x.same_storage(x));
}

TEST(Tensor, AHandleSharesTheNumbers) {
  Tensor x = Tensor::zeros({3});
  Tensor y = x;
  y.fill(2);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{2, 2, 2}));
  EXPECT_TRUE(x.same_storage(y));
  EXPECT_TRUE(x.same_storage(x.detach()));
  EXPECT_FALSE(x.same_storage(x.clone()));
  EXPECT_FALSE(x.same_storage(view_of(x, {2}, {1}, 1)));
  x = x;  // NOLINT: self-assignment keeps it
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{2, 2, 2}));
  Tensor z = std::move(y);
  EXPECT_FALSE(y.defined());  // NOLINT
  EXPECT_TRUE(z.same_storage(x));
}

TEST(Tensor, EmptyOnesWork) {
  for (DType dtype : {DType::f32, DType::bf16, DType::i64}) {
    Tensor x = Tensor::empty({2, 0, 3}, dtype);
    EXPECT_EQ(x.numel(), 0);
    EXPECT_TRUE(x.contiguous());
    x.fill(1);
    EXPECT_EQ(x.clone().shape(), (Shape{2, 0, 3}));
    EXPECT_TRUE(x.to(DType::f64).to_vector<double>().empty());
    x.copy_from(Tensor::empty({2, 0, 3}));
    EXPECT_THROW(x.item(), Error);
  }
}

TEST(Tensor, WrapUsesTheCallersMemoryAndReleasesItOnce) {
  std::vector<float> memory{1, 2, 3, 4};
  int released = 0;
  {
    Tensor kept;
    {
      Tensor x =
          Tensor::wrap(memory.data(), {2, 2}, DType::f32, [&] { ++released; });
      EXPECT_EQ(x.data<float>(), memory.data());
      x.fill(7);
      kept = view_of(x, {2}, {2}, 1);  // a view keeps the memory
    }
    EXPECT_EQ(released, 0);
    EXPECT_EQ(kept.to_vector<float>(), (std::vector<float>{7, 7}));
  }
  EXPECT_EQ(released, 1);
  EXPECT_EQ(memory, (std::vector<float>{7, 7, 7, 7}));
}

TEST(Tensor, WrapRefusesWhatCannotBeRead) {
  alignas(8) char memory[64] = {};
  EXPECT_THROW(Tensor::wrap(memory + 2, {2}, DType::f32), Error);
  EXPECT_NO_THROW(Tensor::wrap(memory + 2, {2}, DType::bf16));
  EXPECT_THROW(Tensor::wrap(nullptr, {2}, DType::f32), Error);
  EXPECT_NO_THROW(Tensor::wrap(nullptr, {2, 0}, DType::f32));
  // More bytes than 63 bits: the memory stays the caller's.
  const auto before = runtime::memory();
  EXPECT_THROW(Tensor::wrap(memory, {std::int64_t{1} << 61}, DType::f64),
               Error);
  EXPECT_EQ(runtime::memory().cached, before.cached);
}

TEST(Tensor, CloneOfAStridedViewIsContiguous) {
  const Tensor x = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor turned = view_of(x, {3, 2}, {1, 3});
  EXPECT_FALSE(turned.contiguous());
  EXPECT_TRUE(turned.same_storage(x));
  const Tensor copy = turned.clone();
  EXPECT_TRUE(copy.contiguous());
  EXPECT_EQ(copy.shape(), (Shape{3, 2}));
  EXPECT_EQ(copy.to_vector<float>(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(std::vector<float>(copy.data<float>(), copy.data<float>() + 6),
            (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(Tensor, FillAndCopyRespectStrides) {
  Tensor x = Tensor::zeros({2, 3});
  Tensor column = view_of(x, {2}, {3}, 1);
  column.fill(5);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 5, 0, 0, 5, 0}));
  column.copy_from(Tensor::from<double>({2}, {8, 9}));
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 8, 0, 0, 9, 0}));
  EXPECT_THROW(x.copy_from(Tensor::zeros({3, 2})), Error);
  EXPECT_THROW(x.copy_from(Tensor::zeros({6})), Error);
}

TEST(Tensor, FillSetsEveryType) {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16,
                      DType::i64, DType::i32, DType::u16, DType::u8}) {
    const Tensor x = Tensor::full({3}, 3, dtype);
    EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{3, 3, 3}))
        << name_of(dtype);
  }
  EXPECT_EQ(Tensor::full({2}, 3, DType::boolean).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{1, 1}));
}

TEST(Tensor, ItemIsTheOneNumber) {
  EXPECT_EQ(Tensor::scalar(1.5).item(), 1.5);
  EXPECT_EQ(Tensor::full({1, 1}, 4, DType::i64).item(), 4);
  const Tensor x = Tensor::from<float>({3}, {1, 2, 3});
  EXPECT_EQ(view_of(x, {}, {}, 2).item(), 3);
  EXPECT_THROW(x.item(), Error);
}

TEST(Tensor, ContiguousIgnoresTheStrideOfOneElement) {
  const Tensor x = Tensor::zeros({6});
  EXPECT_TRUE(view_of(x, {1, 6}, {999, 1}).contiguous());
  EXPECT_TRUE(view_of(x, {6, 1}, {1, 999}).contiguous());
  EXPECT_FALSE(view_of(x, {3}, {2}).contiguous());
  EXPECT_FALSE(view_of(x, {2, 6}, {0, 1}).contiguous());
}

TEST(Tensor, OnlyFloatsThatComputeHaveGradients) {
  for (DType dtype : {DType::bf16, DType::f16, DType::i64, DType::boolean}) {
    Tensor x = Tensor::zeros({2}, dtype);
    EXPECT_THROW(x.set_requires_grad(), Error) << name_of(dtype);
    EXPECT_NO_THROW(x.set_requires_grad(false));
  }
  Tensor x = Tensor::zeros({2});
  EXPECT_FALSE(x.requires_grad());
  EXPECT_TRUE(x.set_requires_grad().requires_grad());
  EXPECT_FALSE(x.detach().requires_grad());
  EXPECT_FALSE(x.clone().requires_grad());
  EXPECT_FALSE(x.set_requires_grad(false).requires_grad());
}

TEST(Tensor, SetGradChecksAndZeroGradForgets) {
  Tensor x = Tensor::zeros({2, 3});
  x.set_requires_grad();
  EXPECT_THROW(x.set_grad(Tensor::zeros({3, 2})), Error);
  EXPECT_THROW(x.set_grad(Tensor::zeros({2, 3}, DType::f64)), Error);
  const Tensor g = Tensor::from<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  x.set_grad(view_of(g, {2, 3}, {1, 2}));
  EXPECT_TRUE(x.grad().contiguous());
  EXPECT_EQ(x.grad().to_vector<float>(),
            (std::vector<float>{1, 3, 5, 2, 4, 6}));
  x.zero_grad();
  EXPECT_FALSE(x.grad().defined());
}

TEST(Tensor, AnAbsurdSizeIsAnErrorThatNamesIt) {
  const auto before = runtime::memory();
  try {
    Tensor::empty({std::int64_t{1} << 50});
    FAIL() << "four pebibytes were handed out";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    const std::string message = error.what();
    EXPECT_NE(message.find("4503599627370496"), std::string::npos) << message;
    EXPECT_NE(message.find("out of memory"), std::string::npos) << message;
  }
  EXPECT_THROW(Tensor::empty({std::int64_t{1} << 61}, DType::f64), Error);
  EXPECT_THROW(Tensor::empty({(std::int64_t{1} << 61) - 1}), Error);
  const auto after = runtime::memory();
  EXPECT_EQ(after.in_use, before.in_use);
  EXPECT_EQ(after.peak, before.peak);
}

}  // namespace
}  // namespace qkv
