// CPython 3.11: random.seed(s); x = list(range(n)); random.shuffle(x).
#include "data/python_random.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace qkv::data {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(PythonRandom, ShufflesAsPython) {
  EXPECT_EQ(python_shuffle(42, 10), (Numbers{7, 3, 2, 8, 5, 6, 9, 4, 0, 1}));
  EXPECT_EQ(python_shuffle(7, 7), (Numbers{5, 6, 4, 0, 3, 1, 2}));
  // As many as names.txt has.
  Numbers order = python_shuffle(42, 32033);
  EXPECT_EQ(Numbers(order.begin(), order.begin() + 8),
            (Numbers{26785, 23366, 20900, 29382, 25333, 8234, 13378, 17579}));
  EXPECT_EQ(Numbers(order.end() - 3, order.end()), (Numbers{819, 3648, 20952}));
  std::sort(order.begin(), order.end());
  for (std::int64_t i = 0; i < 32033; ++i) ASSERT_EQ(order[i], i);
}

TEST(PythonRandom, ShortOnesStay) {
  EXPECT_EQ(python_shuffle(42, 0), Numbers{});
  EXPECT_EQ(python_shuffle(42, 1), Numbers{0});
}

}  // namespace
}  // namespace qkv::data
