#include "kernels/softmax/softmax.h"

#include <cmath>

#include "tests/kernels/kernel_test.h"

namespace qkv::kernels {
namespace {

// In double, by the definitions.
std::vector<double> expected_softmax(const std::vector<float>& x, int64_t n) {
  std::vector<double> y(x.size());
  for (std::size_t row = 0; row < x.size(); row += n) {
    double max = x[row], sum = 0;
    for (int64_t i = 0; i < n; ++i) max = std::max<double>(max, x[row + i]);
    for (int64_t i = 0; i < n; ++i) sum += std::exp(x[row + i] - max);
    for (int64_t i = 0; i < n; ++i)
      y[row + i] = std::exp(x[row + i] - max) / sum;
  }
  return y;
}

TEST(Softmax, ForwardAndBackwardMatchTheDefinition) {
  on_each_set([] {
    for (int64_t n : kSizes) {
      SCOPED_TRACE(n);
      const int64_t rows = 5;
      auto x = normals<float>(rows * n, 1);
      for (float& v : x) v *= 6;
      const auto dy = normals<float>(rows * n, 2);
      const auto y = expected_softmax(x, n);
      std::vector<double> log_y, dx(y.size()), dx_log(y.size());
      for (double p : y) log_y.push_back(std::log(p));
      for (int64_t row = 0; row < rows * n; row += n) {
        double dot = 0, sum = 0;
        for (int64_t i = row; i < row + n; ++i)
          dot += y[i] * dy[i], sum += dy[i];
        for (int64_t i = row; i < row + n; ++i) {
          dx[i] = y[i] * (dy[i] - dot);
          dx_log[i] = dy[i] - y[i] * sum;
        }
      }
      std::vector<float> out(x.size()), back(x.size());
      softmax<float>(x.data(), rows, n, out.data());
      EXPECT_TRUE(near(out, y, 1e-6));
      softmax_backward<float>(out.data(), dy.data(), rows, n, back.data());
      EXPECT_TRUE(near(back, dx, 2e-6));
      log_softmax<float>(x.data(), rows, n, out.data());
      EXPECT_TRUE(near(out, log_y, 1e-6));
      log_softmax_backward<float>(out.data(), dy.data(), rows, n, back.data());
      EXPECT_TRUE(near(back, dx_log, 4e-6));
    }
  });
}

TEST(Softmax, LargeAndVeryNegativeNumbersDoNotOverflow) {
  on_each_set([] {
    for (auto path : {runtime::Path::automatic, runtime::Path::reference}) {
      runtime::UsePath use(path);
      std::vector<float> x = {800, 1, 1}, y(3);
      softmax<float>(x.data(), 1, 3, y.data());
      EXPECT_EQ(y, (std::vector<float>{1, 0, 0}));
      x = {-1e4f, -1e4f, -kInfinity};
      softmax<float>(x.data(), 1, 3, y.data());
      EXPECT_EQ(y, (std::vector<float>{0.5f, 0.5f, 0}));
      log_softmax<float>(x.data(), 1, 3, y.data());
      EXPECT_NEAR(y[0], -std::log(2.0f), 1e-3);  // 1e4 has steps of 1e-3
      EXPECT_EQ(y[2], -kInfinity);
    }
  });
}

// As PyTorch: a row without a finite number, or with a NaN anywhere in it.
TEST(Softmax, RowsThatMeanNothingAreNaN) {
  on_each_set([] {
    for (auto path : {runtime::Path::automatic, runtime::Path::reference}) {
      runtime::UsePath use(path);
      for (int64_t place : {0, 7, 16, 39}) {
        std::vector<float> x = normals<float>(40, 1), y(40);
        x[place] = kNaN;
        softmax<float>(x.data(), 1, 40, y.data());
        for (float v : y) EXPECT_TRUE(std::isnan(v));
        log_softmax<float>(x.data(), 1, 40, y.data());
        for (float v : y) EXPECT_TRUE(std::isnan(v));
      }
      std::vector<float> x(40, -kInfinity), y(40);
      softmax<float>(x.data(), 1, 40, y.data());
      for (float v : y) EXPECT_TRUE(std::isnan(v));
    }
  });
}

TEST(Softmax, ARowDoesNotDependOnItsCompanyAndInPlaceIsTheSame) {
  const int64_t rows = 700, n = 65;
  const auto x = normals<float>(rows * n, 1);
  on_each_set([&] {
    std::vector<float> alone(x.size());
    for (int64_t r = 0; r < rows; ++r)
      softmax<float>(x.data() + r * n, 1, n, alone.data() + r * n);
    with_threads([&] {
      auto together = x;
      softmax<float>(together.data(), rows, n, together.data());
      EXPECT_EQ(together, alone);
    });
  });
}

TEST(Softmax, NoColumnsIsNothing) {
  softmax<float>(nullptr, 4, 0, nullptr);
  softmax<double>(nullptr, 0, 4, nullptr);
}

}  // namespace
}  // namespace qkv::kernels
