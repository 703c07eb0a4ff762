#include "kernels/gemm/rows_times_weight.h"

#include "tests/kernels/kernel_test.h"

namespace qkv::kernels {
namespace {

template <class T>
std::vector<T> run(const std::vector<T>& x, int64_t rows, int64_t in,
                   const std::vector<T>& weight, int64_t out, const T* bias) {
  std::vector<T> y(rows * out, T(kNaN));
  rows_times_weight<T>(x.data(), rows, in, weight.data(), out, bias, y.data());
  return y;
}

TEST(RowsTimesWeight, MatchesTheDefinition) {
  on_each_set([] {
    for (int64_t in : kSizes)
      for (int64_t rows : {1, 2, 3, 4, 5, 9}) {
        const int64_t out = 11;
        const auto x = normals<float>(rows * in, 1);
        const auto w = normals<float>(out * in, 2), b = normals<float>(out, 3);
        std::vector<double> expected;
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t o = 0; o < out; ++o) {
            double sum = b[o];
            for (int64_t i = 0; i < in; ++i)
              sum += double(x[r * in + i]) * w[o * in + i];
            expected.push_back(sum);
          }
        ASSERT_TRUE(near(run(x, rows, in, w, out, b.data()), expected, 2e-6));
        runtime::UsePath use(runtime::Path::reference);
        ASSERT_TRUE(near(run(x, rows, in, w, out, b.data()), expected, 2e-5));
      }
  });
}

TEST(RowsTimesWeight, ARowDoesNotDependOnItsCompany) {
  const int64_t rows = 13, in = 770, out = 300;
  const auto x = normals<float>(rows * in, 1);
  const auto w = normals<float>(out * in, 2);
  on_each_set([&] {
    const auto together =
        run(x, rows, in, w, out, static_cast<float*>(nullptr));
    with_threads([&] {
      for (int64_t r = 0; r < rows; ++r) {
        const std::vector<float> one(x.begin() + r * in,
                                     x.begin() + (r + 1) * in);
        const auto alone =
            run(one, 1, in, w, out, static_cast<float*>(nullptr));
        EXPECT_TRUE(
            std::equal(alone.begin(), alone.end(), together.begin() + r * out));
      }
    });
  });
}

TEST(RowsTimesWeight, DoubleMatchesTheDefinition) {
  const std::vector<double> x = {1, 2, 3}, w = {1, 0, 1, -1, 2, 0.5},
                            b = {10, 20};
  EXPECT_EQ(run(x, 1, 3, w, 2, b.data()), (std::vector<double>{14, 24.5}));
}

TEST(RowsTimesWeight, NothingToSumGivesTheBias) {
  const std::vector<float> none, b = {1, 2};
  EXPECT_EQ(run(none, 1, 0, none, 2, b.data()), b);
}

}  // namespace
}  // namespace qkv::kernels
