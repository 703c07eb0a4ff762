#include "kernels/elementwise/dropout.h"

#include <cmath>

#include "tests/kernels/kernel_test.h"

namespace qkv::kernels {
namespace {

const StepRng kRng{.seed = 0x123456789abcdef0, .step = 77};
constexpr std::uint64_t kStream = 0xfedcba9876543210;

std::vector<float> expected(const std::vector<float>& x, double p,
                            int64_t first) {
  std::vector<float> y;
  for (std::size_t i = 0; i < x.size(); ++i)
    y.push_back(kRng.uniform(kStream, first + i) < p
                    ? 0.0f
                    : x[i] * static_cast<float>(1 / (1 - p)));
  return y;
}

TEST(Dropout, DecidesByTheNumberOfTheElement) {
  on_each_set([] {
    for (int64_t n : kSizes)
      // Odd starts, and a block index that carries into its high word.
      for (int64_t first :
           {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4},
            int64_t{1001}, (int64_t{1} << 34) - 40, int64_t{1} << 50})
        for (double p : {0.0, 0.2, 0.5, 0.9}) {
          const auto x = normals<float>(n, 1);
          const auto want = expected(x, p, first);
          for (auto path :
               {runtime::Path::automatic, runtime::Path::reference}) {
            runtime::UsePath use(path);
            std::vector<float> y(n, kNaN);
            dropout<float>(x.data(), n, p, kRng, kStream, first, y.data());
            ASSERT_EQ(y, want) << n << " from " << first << " p " << p;
          }
          std::vector<double> wide(n);
          dropout<double>(std::vector<double>(x.begin(), x.end()).data(), n, p,
                          kRng, kStream, first, wide.data());
          for (int64_t i = 0; i < n; ++i) ASSERT_EQ(wide[i] == 0, want[i] == 0);
        }
  });
}

TEST(Dropout, CutsAndThreadsChangeNoBit) {
  const int64_t n = 50001;
  const auto x = normals<float>(n, 1);
  on_each_set([&] {
    std::vector<float> parts(n);
    for (int64_t i = 0; i < n; i += 777)
      dropout<float>(x.data() + i, std::min<int64_t>(777, n - i), 0.3, kRng,
                     kStream, i, parts.data() + i);
    with_threads([&] {
      auto y = x;  // in place
      dropout<float>(y.data(), n, 0.3, kRng, kStream, 0, y.data());
      EXPECT_EQ(y, parts);
    });
  });
}

TEST(Dropout, DropsTheShareItSays) {
  const int64_t n = 1 << 20;
  std::vector<float> ones(n, 1.0f);
  dropout<float>(ones.data(), n, 0.2, kRng, kStream, 0, ones.data());
  int64_t dropped = 0;
  for (float v : ones) dropped += v == 0;
  // Five standard deviations of a binomial: 5·√(n·0.2·0.8) = 2048.
  EXPECT_NEAR(dropped, 0.2 * n, 2048);
}

// A dropped element is 0 even where x is not a number.
TEST(Dropout, ADroppedNaNIsZero) {
  std::vector<float> x(64, kNaN);
  dropout<float>(x.data(), 64, 0.5, kRng, kStream, 0, x.data());
  int zeros = 0, nans = 0;
  for (float v : x) zeros += v == 0, nans += std::isnan(v);
  EXPECT_EQ(zeros + nans, 64);
  EXPECT_GT(zeros, 0);
  EXPECT_GT(nans, 0);
}

}  // namespace
}  // namespace qkv::kernels
