// The plain attention kernel against its formula, written out here with the
// whole matrix of weights, and against finite differences.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/attention_cases.h"

namespace qkv::kernels {
namespace {

using std::int64_t;

// out (b,h,i,c) and weights (b,h,i,j) in long double, from the mask as the case
// tells it.
struct Expected {
  std::vector<double> out, weights;
};

Expected brute_force(const AttentionCase& c, const AttentionArrays<double>& a) {
  const AttentionShape& s = c.shape;
  Expected e;
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t i = 0; i < s.queries; ++i) {
        std::vector<long double> weight(s.keys, 0);
        long double sum = 0;
        for (int64_t j = 0; j < s.keys; ++j) {
          if (!sees(c, b, h, i, j)) continue;
          long double score = 0;
          for (int64_t k = 0; k < s.width; ++k)
            score += static_cast<long double>(a.problem.q.at(b, h, i)[k]) *
                     a.problem.k.at(b, h, j)[k];
          weight[j] =
              std::exp(score * a.problem.scale + bias_of(c, b, h, i, j));
          sum += weight[j];
        }
        std::vector<long double> out(s.width, 0);
        for (int64_t j = 0; j < s.keys; ++j) {
          if (sum > 0) weight[j] /= sum;
          for (int64_t k = 0; k < s.width; ++k)
            out[k] +=
                weight[j] * keep_of(c, b, h, i, j) * a.problem.v.at(b, h, j)[k];
          e.weights.push_back(static_cast<double>(weight[j]));
        }
        e.out.insert(e.out.end(), out.begin(), out.end());
      }
  return e;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b,
                 double tolerance, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance) << what << " " << i;
}

class ReferenceAttention : public ::testing::TestWithParam<MaskKind> {};

TEST_P(ReferenceAttention, EqualsItsFormula) {
  for (const auto& [queries, keys] :
       {std::pair<int64_t, int64_t>{1, 1}, {5, 5}, {3, 9}, {9, 3}, {20, 17}})
    for (double dropout : {0.0, 0.3}) {
      const AttentionCase c{.shape = {2, 3, queries, keys, 4},
                            .mask = GetParam(),
                            .dropout = dropout,
                            .weight_heads = 3};
      SCOPED_TRACE(c.str());
      AttentionArrays<double> a(c);
      a.run_reference();
      const Expected e = brute_force(c, a);
      expect_near(a.out(), e.out, 1e-13, "out");
      expect_near(a.weights(), e.weights, 1e-13, "weights");
    }
}

TEST_P(ReferenceAttention, GradientsMatchDifferences) {
  for (const auto& lengths :
       {std::pair<int64_t, int64_t>{5, 5}, {4, 7}, {7, 4}})
    for (double dropout : {0.0, 0.3}) {
      const AttentionCase c{.shape = {2, 2, lengths.first, lengths.second, 3},
                            .mask = GetParam(),
                            .dropout = dropout};
      SCOPED_TRACE(c.str());
      AttentionArrays<double> a(c);
      a.run_reference();
      const std::vector<double> dq = a.dq(), dk = a.dk(), dv = a.dv();
      const auto loss = [&] {
        a.run_reference();
        const std::vector<double> out = a.out();
        const std::vector<double> dout =
            a.rows(a.gradients.dout, lengths.first);
        double sum = 0;
        for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * dout[i];
        return sum;
      };
      const auto check = [&](const HeadRows<const double>& x, int64_t length,
                             const std::vector<double>& gradient,
                             const char* what) {
        std::size_t at = 0, not_zero = 0;
        for (int64_t b = 0; b < 2; ++b)
          for (int64_t h = 0; h < 2; ++h)
            for (int64_t i = 0; i < length; ++i)
              for (int64_t k = 0; k < 3; ++k, ++at) {
                double& value = a.mutable_row(x, b, h, i)[k];
                const double before = value;
                value = before + 1e-5;
                const double above = loss();
                value = before - 1e-5;
                const double below = loss();
                value = before;
                ASSERT_NEAR(gradient[at], (above - below) / 2e-5, 1e-8)
                    << what << " " << at;
                not_zero += gradient[at] != 0;
              }
        const bool constant_weights = GetParam() == MaskKind::window1;
        EXPECT_TRUE(constant_weights || not_zero > at / 8) << what;
      };
      check(a.problem.q, lengths.first, dq, "dq");
      check(a.problem.k, lengths.second, dk, "dk");
      check(a.problem.v, lengths.second, dv, "dv");
    }
}

INSTANTIATE_TEST_SUITE_P(Masks, ReferenceAttention,
                         ::testing::ValuesIn(kAllMasks),
                         [](const auto& info) { return name_of(info.param); });

TEST(ReferenceAttention, VeryLargeAndVerySmallScores) {
  // softmax([800,1,1]) = [1,0,0]; softmax([-1e4,-1e4]) = [1/2,1/2].
  const AttentionCase c{.shape = {1, 1, 1, 3, 1}, .weight_heads = 1};
  AttentionArrays<double> a(c);
  a.problem.scale = 1;
  a.mutable_row(a.problem.q, 0, 0, 0)[0] = 1;
  const double keys[] = {800, 1, 1};
  for (int64_t j = 0; j < 3; ++j)
    a.mutable_row(a.problem.k, 0, 0, j)[0] = keys[j];
  a.run_reference();
  EXPECT_EQ(a.weights(), (std::vector<double>{1, 0, 0}));
  for (int64_t j = 0; j < 3; ++j) a.mutable_row(a.problem.k, 0, 0, j)[0] = -1e4;
  a.run_reference();
  for (double w : a.weights()) EXPECT_NEAR(w, 1.0 / 3, 1e-15);
}

}  // namespace
}  // namespace qkv::kernels
