#include "kernels/norm/layer_norm.h"

#include <cmath>

#include "tests/kernels/kernel_test.h"

namespace qkv::kernels {
namespace {

template <class T>
struct Result {
  std::vector<T> y, mean, rstd, dx, dgamma, dbeta;
};

// Forward and backward; optional parameters are left out where flags say so.
template <class T>
Result<T> run(const std::vector<T>& x, const std::vector<T>& gamma,
              const std::vector<T>& beta, const std::vector<T>& dy,
              int64_t rows, int64_t n, bool affine) {
  Result<T> r;
  const T nan = T(kNaN);
  r.y.assign(rows * n, nan), r.dx = r.y;
  r.mean.assign(rows, nan), r.rstd = r.mean;
  r.dgamma.assign(n, nan), r.dbeta = r.dgamma;
  const T* g = affine ? gamma.data() : nullptr;
  layer_norm<T>(x.data(), g, affine ? beta.data() : nullptr, rows, n, 1e-5,
                r.y.data(), r.mean.data(), r.rstd.data());
  std::vector<T> workspace(layer_norm_backward_workspace(rows, n), nan);
  layer_norm_backward<T>({x.data(), g, r.mean.data(), r.rstd.data(), dy.data(),
                          rows, n, r.dx.data(), workspace.data()},
                         r.dgamma.data(), r.dbeta.data());
  return r;
}

// By the definition in double, the backward through the whole Jacobian of the
// normalised row: dh_j/dx_i = rstd·([i = j] - 1/n - h_i·h_j/n).
Result<double> expected(const std::vector<float>& x,
                        const std::vector<float>& gamma,
                        const std::vector<float>& beta,
                        const std::vector<float>& dy, int64_t rows, int64_t n,
                        bool affine) {
  Result<double> r;
  r.dgamma.assign(n, 0), r.dbeta.assign(n, 0);
  for (int64_t row = 0; row < rows; ++row) {
    const float* v = x.data() + row * n;
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < n; ++i) mean += double(v[i]) / n;
    for (int64_t i = 0; i < n; ++i) variance += std::pow(v[i] - mean, 2) / n;
    const double rstd = 1 / std::sqrt(variance + 1e-5);
    r.mean.push_back(mean), r.rstd.push_back(rstd);
    std::vector<double> h(n);
    for (int64_t i = 0; i < n; ++i) {
      h[i] = (v[i] - mean) * rstd;
      r.y.push_back(affine ? h[i] * gamma[i] + beta[i] : h[i]);
      r.dgamma[i] += dy[row * n + i] * h[i];
      r.dbeta[i] += dy[row * n + i];
    }
    for (int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < n; ++j)
        sum += dy[row * n + j] * (affine ? gamma[j] : 1.0) * rstd *
               ((i == j) - 1.0 / n - h[i] * h[j] / n);
      r.dx.push_back(sum);
    }
  }
  return r;
}

TEST(LayerNorm, ForwardAndBackwardMatchTheDefinition) {
  on_each_set([] {
    for (int64_t n : kSizes)
      for (int64_t rows : {1, 31, 32, 33, 70})
        for (bool affine : {true, false}) {
          SCOPED_TRACE(::testing::Message() << rows << "x" << n << affine);
          const auto x = normals<float>(rows * n, 1);
          const auto gamma = normals<float>(n, 2), beta = normals<float>(n, 3);
          const auto dy = normals<float>(rows * n, 4);
          const auto want = expected(x, gamma, beta, dy, rows, n, affine);
          for (auto path :
               {runtime::Path::automatic, runtime::Path::reference}) {
            runtime::UsePath use(path);
            const auto got = run(x, gamma, beta, dy, rows, n, affine);
            EXPECT_TRUE(near(got.y, want.y, 2e-5));
            EXPECT_TRUE(near(got.mean, want.mean, 1e-6));
            EXPECT_TRUE(near(got.dx, want.dx, 2e-5));
            EXPECT_TRUE(near(got.dgamma, want.dgamma, 1e-5));
            EXPECT_TRUE(near(got.dbeta, want.dbeta, 1e-5));
          }
        }
  });
}

TEST(LayerNorm, ThreadsChangeNoBitAndARowDoesNotDependOnItsCompany) {
  const int64_t rows = 777, n = 129;
  const auto x = normals<float>(rows * n, 1), dy = normals<float>(rows * n, 4);
  const auto gamma = normals<float>(n, 2), beta = normals<float>(n, 3);
  on_each_set([&] {
    const auto one = run(x, gamma, beta, dy, rows, n, true);
    with_threads([&] {
      const auto many = run(x, gamma, beta, dy, rows, n, true);
      EXPECT_EQ(many.y, one.y);
      EXPECT_EQ(many.dx, one.dx);
      EXPECT_EQ(many.dgamma, one.dgamma);
      EXPECT_EQ(many.dbeta, one.dbeta);
    });
    std::vector<float> y(n);
    layer_norm<float>(x.data() + 500 * n, gamma.data(), beta.data(), 1, n, 1e-5,
                      y.data(), nullptr, nullptr);
    EXPECT_TRUE(std::equal(y.begin(), y.end(), one.y.begin() + 500 * n));
  });
}

TEST(LayerNorm, LargeMeansLoseNothingToTheSquares) {
  // A one-pass variance E[x²] - E[x]² would give 0 or less here.
  std::vector<float> x(48), y(48);
  for (int i = 0; i < 48; ++i) x[i] = 1e4f + static_cast<float>(i % 2);
  on_each_set([&] {
    layer_norm<float>(x.data(), nullptr, nullptr, 1, 48, 1e-5, y.data(),
                      nullptr, nullptr);
    for (int i = 0; i < 48; ++i) EXPECT_NEAR(y[i], i % 2 ? 1 : -1, 1e-3);
  });
}

TEST(LayerNorm, InPlaceAndWithoutParameterGradients) {
  const int64_t rows = 40, n = 33;
  const auto x = normals<float>(rows * n, 1), dy = normals<float>(rows * n, 4);
  const auto gamma = normals<float>(n, 2), beta = normals<float>(n, 3);
  const auto want = run(x, gamma, beta, dy, rows, n, true);
  auto y = x, dx = dy;
  layer_norm<float>(y.data(), gamma.data(), beta.data(), rows, n, 1e-5,
                    y.data(), nullptr, nullptr);
  EXPECT_EQ(y, want.y);
  std::vector<float> workspace(layer_norm_backward_workspace(rows, n));
  layer_norm_backward<float>(
      {x.data(), gamma.data(), want.mean.data(), want.rstd.data(), dx.data(),
       rows, n, dx.data(), workspace.data()},
      nullptr, nullptr);
  EXPECT_EQ(dx, want.dx);
}

}  // namespace
}  // namespace qkv::kernels
