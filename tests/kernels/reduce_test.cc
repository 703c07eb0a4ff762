#include "kernels/elementwise/reduce.h"

#include <cmath>

#include "tests/kernels/kernel_test.h"

namespace qkv::kernels {
namespace {

struct Size {
  int64_t outer, n, inner;
};
// Short and long sums, columns around the bands of four vectors, one column.
const std::vector<Size> kCases = {
    {1, 1, 1},      {3, 5, 1},  {4, 129, 1},   {1, 40000, 1},
    {2, 20000, 1},  {1, 7, 2},  {3, 100, 7},   {1, 33, 16},
    {1, 700, 64},   {2, 3, 65}, {1, 512, 192}, {1, 70, 5000},
    {1, 3000, 130}, {0, 3, 4},  {3, 0, 4},     {3, 4, 0}};

template <class T>
std::vector<T> sums(const std::vector<T>& x, const Size& s) {
  std::vector<T> out(s.outer * s.inner, T(kNaN));
  std::vector<T> workspace(sum_axis_workspace(s.outer, s.n, s.inner), T(kNaN));
  sum_axis<T>(x.data(), s.outer, s.n, s.inner, out.data(), workspace.data());
  return out;
}

TEST(SumAxis, MatchesTheDefinitionForAnyThreads) {
  on_each_set([] {
    for (const Size& s : kCases) {
      SCOPED_TRACE(::testing::Message()
                   << s.outer << "," << s.n << "," << s.inner);
      const auto x = normals<float>(s.outer * s.n * s.inner, 1);
      std::vector<double> expected(s.outer * s.inner, 0.0);
      for (int64_t o = 0; o < s.outer; ++o)
        for (int64_t i = 0; i < s.n; ++i)
          for (int64_t j = 0; j < s.inner; ++j)
            expected[o * s.inner + j] += x[(o * s.n + i) * s.inner + j];
      const auto one = sums(x, s);
      EXPECT_TRUE(near(one, expected, 5e-6));
      with_threads([&] { EXPECT_EQ(sums(x, s), one); });
      runtime::UsePath use(runtime::Path::reference);
      EXPECT_TRUE(near(sums(x, s), expected, 2e-5));
      EXPECT_TRUE(near(sums(std::vector<double>(x.begin(), x.end()), s),
                       expected, 1e-12));
    }
  });
}

TEST(ExpandAxis, RepeatsAndScales) {
  const std::vector<double> x = {1, 2, 3, 4};
  std::vector<double> out(12);
  expand_axis<double>(x.data(), 2, 3, 2, 0.5, out.data());
  EXPECT_EQ(out,
            (std::vector<double>{.5, 1, .5, 1, .5, 1, 1.5, 2, 1.5, 2, 1.5, 2}));
  out.assign(8, 0);
  expand_axis<double>(x.data(), 4, 2, 1, 10, out.data());
  EXPECT_EQ(out, (std::vector<double>{10, 10, 20, 20, 30, 30, 40, 40}));
}

TEST(MaxAxis, TakesTheFirstOfEqualsAndNaNBeforeAll) {
  //                              columns: 5 7 5 / 9 2 9
  const std::vector<float> x = {5, 9, 7, 2, 5, 9};
  std::vector<float> values(2);
  std::vector<int64_t> indices(2);
  max_axis<float>(x.data(), 1, 3, 2, values.data(), indices.data());
  EXPECT_EQ(values, (std::vector<float>{7, 9}));
  EXPECT_EQ(indices, (std::vector<int64_t>{1, 0}));
  std::vector<float> dx(6, kNaN);
  const std::vector<float> dy = {3, 4};
  max_axis_backward<float>(dy.data(), indices.data(), 1, 3, 2, dx.data());
  EXPECT_EQ(dx, (std::vector<float>{0, 4, 3, 0, 0, 0}));
  const std::vector<float> with_nan = {1, kNaN, 8, kNaN};
  max_axis<float>(with_nan.data(), 1, 4, 1, values.data(), indices.data());
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(indices[0], 1);
  const std::vector<float> low = {-kInfinity, -kInfinity};
  max_axis<float>(low.data(), 1, 2, 1, values.data(), nullptr);
  EXPECT_EQ(values[0], -kInfinity);
}

}  // namespace
}  // namespace qkv::kernels
