#include "qkv/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "qkv/error.h"

namespace qkv {
namespace {

constexpr std::int64_t kBig = std::int64_t{1} << 40;

TEST(Shape, AScalarHasOneElementAndNoAxes) {
  const Shape scalar;
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.numel(), 1);
  EXPECT_EQ(scalar.str(), "()");
  EXPECT_THROW(scalar.dim(0), Error);
  EXPECT_THROW(scalar.dim(-1), Error);
}

TEST(Shape, CountsElementsIn64Bits) {
  // Logits of GPT-2 at batch 64: over 2^31 elements.
  EXPECT_EQ(Shape({64, 1024, 50257}).numel(), 3293642752);
  EXPECT_EQ(Shape({std::int64_t{1} << 62}).numel(), std::int64_t{1} << 62);
}

TEST(Shape, ASizeBeyond63BitsIsAnError) {
  EXPECT_THROW(Shape({kBig, kBig}), Error);
  EXPECT_THROW(Shape({kBig, kBig, 0}), Error);  // a zero does not hide it,
  EXPECT_THROW(Shape({0, kBig, kBig}), Error);  // wherever it stands
  EXPECT_EQ(Shape({kBig, 0}).numel(), 0);
  EXPECT_THROW(checked_multiply(kBig, kBig), Error);
  EXPECT_THROW(checked_multiply(kBig, -kBig), Error);
  EXPECT_EQ(checked_multiply(-kBig, 2), -2 * kBig);
}

TEST(Shape, RefusesNegativeSizesAndASeventhAxis) {
  EXPECT_THROW(Shape({2, -1}), Error);
  EXPECT_THROW(Shape({std::numeric_limits<std::int64_t>::min()}), Error);
  EXPECT_EQ(Shape({1, 2, 3, 4, 5, 6}).rank(), 6);
  EXPECT_THROW(Shape({1, 1, 1, 1, 1, 1, 1}), Error);
  const std::vector<std::int64_t> sizes(1000, 1);
  EXPECT_THROW(Shape{std::span<const std::int64_t>(sizes)}, Error);
}

TEST(Shape, NegativeAxesCountFromTheEnd) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.dim(-1), 5);
  EXPECT_EQ(shape.dim(-3), 2);
  EXPECT_EQ(shape.axis(-2), 1);
  for (int i : {3, -4, std::numeric_limits<int>::max(),
                std::numeric_limits<int>::min()})
    EXPECT_THROW(shape.axis(i), Error) << i;
}

TEST(Shape, MakesChangedCopies) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.with(-1, 7), (Shape{2, 3, 7}));
  EXPECT_EQ(shape.with(0, 0).numel(), 0);
  EXPECT_EQ(shape.without(1), (Shape{2, 5}));
  EXPECT_EQ(shape.without(-1), (Shape{2, 3}));
  EXPECT_EQ(shape.inserted(0, 9), (Shape{9, 2, 3, 5}));
  EXPECT_EQ(shape.inserted(3, 9), (Shape{2, 3, 5, 9}));
  EXPECT_EQ(shape.inserted(-1, 9), (Shape{2, 3, 5, 9}));
  EXPECT_THROW(shape.inserted(4, 1), Error);
  EXPECT_THROW(shape.inserted(-5, 1), Error);
  EXPECT_THROW(shape.with(1, kBig).with(0, kBig), Error);
  EXPECT_THROW(Shape({1, 1, 1, 1, 1, 1}).inserted(0, 1), Error);
  EXPECT_EQ(shape, (Shape{2, 3, 5}));
}

TEST(Shape, EqualityNeedsTheSameRank) {
  EXPECT_NE((Shape{1}), Shape());
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{6}), (Shape{2, 3}));
}

TEST(Shape, ErrorsNameTheShape) {
  try {
    Shape({2, 5, 32}).dim(3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_NE(std::string(error.what()).find("(2,5,32)"), std::string::npos);
  }
}

}  // namespace
}  // namespace qkv
