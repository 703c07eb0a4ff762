#include "kernels/gemm/gemm.h"

#include <array>
#include <cmath>

#include "core/parallel.h"
#include "tests/kernels/kernel_test.h"

namespace qkv::kernels {
namespace {

using runtime::Path;

// A product with gaps behind every row, and its expected C by the definition.
template <class T>
struct Problem {
  Gemm<T> g;
  std::vector<T> a, b, c, bias, workspace;

  Problem(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
          T alpha = 1, T beta = 0, bool with_bias = false, int64_t gap = 3) {
    g.trans_a = trans_a;
    g.trans_b = trans_b;
    g.m = m, g.n = n, g.k = k;
    g.alpha = alpha, g.beta = beta;
    g.lda = (trans_a ? m : k) + gap;
    g.ldb = (trans_b ? k : n) + gap;
    g.ldc = n + gap;
    a = normals<T>((trans_a ? k : m) * g.lda, 1);
    b = normals<T>((trans_b ? n : k) * g.ldb, 2);
    c = normals<T>(m * g.ldc, 3);
    bias = normals<T>(n, 4);
    g.a = a.data(), g.b = b.data(), g.c = c.data();
    if (with_bias) g.bias = bias.data();
  }
  void run() {
    workspace.assign(static_cast<std::size_t>(gemm_workspace(g)), T(kNaN));
    gemm<T>(g, workspace.data());
  }
  std::vector<double> expected() const {
    std::vector<double> out(c.begin(), c.end());
    for (int64_t i = 0; i < g.m; ++i)
      for (int64_t j = 0; j < g.n; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < g.k; ++p)
          sum += double(g.trans_a ? a[p * g.lda + i] : a[i * g.lda + p]) *
                 double(g.trans_b ? b[j * g.ldb + p] : b[p * g.ldb + j]);
        double& to = out[i * g.ldc + j];
        to = g.alpha * sum + (g.beta == 0 ? 0 : g.beta * to) +
             (g.bias ? bias[j] : 0);
      }
    return out;
  }
};

template <class T>
void check_sizes(double tolerance, Path path) {
  runtime::UsePath use(path);
  for (int64_t m : {1, 3, 16, 33, 65})
    for (int64_t n : {1, 7, 16, 49, 130})
      for (int64_t k : {1, 2, 15, 64, 131})
        for (int trans = 0; trans < 4; ++trans) {
          SCOPED_TRACE(::testing::Message()
                       << m << "x" << n << "x" << k << " trans " << trans);
          Problem<T> p(trans & 1, trans & 2, m, n, k, T(0.5), T(-2), true);
          const auto expected = p.expected();
          p.run();
          ASSERT_TRUE(near(p.c, expected, tolerance));
        }
}

TEST(Gemm, EveryFormMatchesTheDefinition) {
  check_sizes<float>(2e-5, Path::automatic);
  check_sizes<float>(2e-5, Path::reference);
  check_sizes<double>(1e-12, Path::automatic);
}

// Shapes that are cut into many blocks, along k too; nothing between the rows
// of C is touched (expected() keeps what lies there).
TEST(Gemm, CutsMatchTheDefinitionForAnyThreads) {
  struct Size {
    bool trans_a, trans_b;
    int64_t m, n, k;
  };
  for (const Size& s :
       {Size{false, true, 512, 192, 64}, Size{false, false, 512, 64, 256},
        Size{true, false, 192, 64, 512}, Size{true, false, 65, 50, 4500},
        Size{true, false, 64, 64, 16384}, Size{false, true, 300, 1500, 96},
        Size{true, false, 300, 40, 4096}, Size{true, false, 40, 300, 4096},
        Size{false, false, 1100, 600, 40}}) {
    SCOPED_TRACE(::testing::Message() << s.m << "x" << s.n << "x" << s.k);
    Problem<float> first(s.trans_a, s.trans_b, s.m, s.n, s.k, 1, 1, true);
    const auto expected = first.expected();
    first.run();
    EXPECT_TRUE(near(first.c, expected, 2e-5));
    with_threads([&] {
      Problem<float> again(s.trans_a, s.trans_b, s.m, s.n, s.k, 1, 1, true);
      again.run();
      EXPECT_EQ(again.c, first.c);
    });
  }
}

// Each element is summed in one order: a row has the same bits whatever the
// rows, and a column whatever the columns, beside it.
TEST(Gemm, RowsAndColumnsDoNotDependOnTheirNeighbours) {
  for (int trans = 0; trans < 4; ++trans) {
    Problem<float> all(trans & 1, trans & 2, 70, 90, 300, 0.5, 0, true);
    all.run();
    for (int64_t rows : {1, 5, 17, 64})
      for (int64_t cols : {1, 16, 31, 90}) {
        Problem<float> some = all;
        some.g.m = rows, some.g.n = cols;
        some.g.a = some.a.data(), some.g.b = some.b.data();
        some.g.c = some.c.data(), some.g.bias = some.bias.data();
        std::fill(some.c.begin(), some.c.end(), 7.0f);
        some.run();
        for (int64_t i = 0; i < 70; ++i)
          for (int64_t j = 0; j < some.g.ldc; ++j)
            ASSERT_EQ(some.c[i * some.g.ldc + j],
                      i < rows && j < cols ? all.c[i * all.g.ldc + j] : 7.0f)
                << "trans " << trans << ": " << rows << "x" << cols;
      }
  }
}

template <class T>
void check_no_read_of_c() {
  for (int64_t k : {0, 5, 9000}) {
    Problem<T> p(true, false, 40, 30, k);
    std::fill(p.c.begin(), p.c.end(), T(kNaN));
    auto expected = p.expected();
    p.run();
    for (int64_t i = 0; i < p.g.m; ++i)
      for (int64_t j = 0; j < p.g.n; ++j)
        ASSERT_NEAR(p.c[i * p.g.ldc + j], expected[i * p.g.ldc + j],
                    2e-5 * (1 + std::sqrt(double(k)) * 5));
  }
}

TEST(Gemm, DoesNotReadCWhenBetaIsZero) {
  check_no_read_of_c<float>();
  check_no_read_of_c<double>();
  runtime::UsePath use(Path::reference);
  check_no_read_of_c<float>();
}

TEST(Gemm, EmptySizes) {
  for (int64_t m : {0, 4})
    for (int64_t n : {0, 4})
      for (int64_t k : {0, 4}) {
        Problem<float> p(false, false, m, n, k, 1, 2, true, 0);
        const auto expected = p.expected();
        p.run();
        EXPECT_TRUE(near(p.c, expected, 1e-6)) << m << n << k;
      }
}

template <class T>
void check_batched(int64_t batch, int64_t m, int64_t n, int64_t k,
                   double tolerance) {
  // b is shared by all items.
  const auto a = normals<T>(batch * m * k, 1);
  const auto b = normals<T>(k * n, 2);
  std::vector<T> c(batch * m * n, T(kNaN));
  gemm_batched<T>({.m = m,
                   .n = n,
                   .k = k,
                   .a = a.data(),
                   .lda = k,
                   .b = b.data(),
                   .ldb = n,
                   .c = c.data(),
                   .ldc = n},
                  batch, m * k, 0, m * n);
  std::vector<double> expected(batch * m * n, 0.0);
  for (int64_t i = 0; i < batch * m; ++i)
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j)
        expected[i * n + j] += double(a[i * k + p]) * double(b[p * n + j]);
  ASSERT_TRUE(near(c, expected, tolerance)) << batch << ":" << m << n << k;
}

TEST(Gemm, BatchesMatchTheDefinition) {
  for (auto [batch, m, n, k] : {std::array<int64_t, 4>{1, 5, 6, 7},
                                {128, 16, 16, 16},
                                {3, 300, 200, 150},
                                {40, 65, 33, 64},
                                {7, 1, 9, 3},
                                {2, 3, 4, 0},
                                {0, 3, 4, 5}}) {
    check_batched<float>(batch, m, n, k, 2e-5);
    check_batched<double>(batch, m, n, k, 1e-12);
  }
}

// Called from within a parallel region, as fused operations will.
TEST(Gemm, GivesTheSameBitsInsideAParallelRegion) {
  Problem<float> outside(false, true, 512, 192, 64),
      inside(false, true, 512, 192, 64);
  outside.run();
  with_threads([&] {
    parallel_for(2, [&](int64_t i) {
      if (i == 1) inside.run();
    });
    EXPECT_EQ(inside.c, outside.c);
  });
}

}  // namespace
}  // namespace qkv::kernels
