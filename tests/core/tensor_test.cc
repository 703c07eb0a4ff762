#include "qkv/tensor.h"

#include <gtest/gtest.h>

#include "qkv/autograd.h"
#include "qkv/error.h"

namespace qkv {
namespace {

TEST(Tensor, KeepsValuesAndShape) {
  Tensor x = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(x.shape().str(), "(2,3)");
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_THROW(x.data<double>(), Error);
}

TEST(Tensor, ASizeBeyond63BitsIsAnError) {
  EXPECT_THROW(Shape({std::int64_t{1} << 40, std::int64_t{1} << 40}), Error);
  EXPECT_THROW(Shape({0, std::int64_t{1} << 40, std::int64_t{1} << 40}), Error);
  EXPECT_EQ(Shape({64, 1024, 50257}).numel(), 3293642752);
}

TEST(Autograd, ACustomOpReceivesItsGradient) {
  Tensor x = Tensor::from<double>({1}, {3.0});
  x.set_requires_grad();
  Tensor y = custom_op(
      "square", Tensor::scalar(9.0, DType::f64), {x}, [x](const Tensor& g) {
        return std::vector<Tensor>{
            Tensor::from<double>({1}, {2 * x.item() * g.item()})};
      });
  backward(y);
  EXPECT_EQ(x.grad().item(), 6.0);
  EXPECT_THROW(backward(y), Error);  // its graph is spent
}

}  // namespace
}  // namespace qkv
