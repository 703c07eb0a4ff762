// AdamW and SGD against PyTorch's own steps (golden/optim.txt), and the sum of
// squares.
#include <cmath>
#include <fstream>
#include <sstream>

#include "kernels/optim/adamw.h"
#include "kernels/optim/norm.h"
#include "kernels/optim/sgd.h"
#include "tests/kernels/kernel_test.h"

namespace qkv::kernels {
namespace {

// A run of PyTorch's: its options, and what the weights were after each step.
struct Golden {
  std::string kind;                                        // adamw or sgd
  double lr = 0, a = 0, b = 0, eps = 0, weight_decay = 0;  // a, b: betas, or
  bool nesterov = false;  // momentum and dampening
  std::vector<double> start;
  std::vector<std::vector<double>> gradients, weights;
};

std::vector<double> numbers(std::istringstream& line) {
  std::vector<double> values;
  for (std::string word; line >> word;)
    values.push_back(std::strtod(word.c_str(), nullptr));
  return values;
}

std::vector<Golden> golden() {
  std::ifstream file(QKV_SOURCE_DIR "/tests/golden/optim.txt");
  std::vector<Golden> runs;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string word;
    line >> word;
    if (word == "adamw" || word == "sgd") {
      Golden& g = runs.emplace_back();
      g.kind = word;
      line >> g.lr >> g.a >> g.b >> g.eps >> g.weight_decay >> g.nesterov;
    } else if (word == "start") {
      runs.back().start = numbers(line);
    } else if (word == "gradient") {
      runs.back().gradients.push_back(numbers(line));
    } else if (word == "weight") {
      runs.back().weights.push_back(numbers(line));
    }
  }
  return runs;
}

// Replays a run, with the gradients given divided by clip and clip as factor.
template <class T>
void replay(const Golden& g, double tolerance, double clip) {
  std::vector<T> w(g.start.begin(), g.start.end());
  const auto n = static_cast<int64_t>(w.size());
  std::vector<T> m(n, 0), v(n, 0);
  if (g.kind == "sgd")
    std::fill(m.begin(), m.end(), T(kNaN));  // not read first
  for (std::size_t step = 0; step < g.gradients.size(); ++step) {
    std::vector<T> grad;
    for (double x : g.gradients[step]) grad.push_back(static_cast<T>(x / clip));
    if (g.kind == "adamw")
      adamw<T>({.lr = g.lr,
                .beta1 = g.a,
                .beta2 = g.b,
                .eps = g.eps,
                .weight_decay = g.weight_decay,
                .step = static_cast<int64_t>(step) + 1,
                .grad_scale = clip},
               grad.data(), n, w.data(), m.data(), v.data());
    else
      sgd<T>({.lr = g.lr,
              .momentum = g.a,
              .dampening = g.b,
              .weight_decay = g.weight_decay,
              .nesterov = g.nesterov,
              .first = step == 0,
              .grad_scale = clip},
             grad.data(), n, w.data(), g.a == 0 ? nullptr : m.data());
    ASSERT_TRUE(near(w, g.weights[step], tolerance)) << g.kind << " " << step;
  }
}

TEST(Optim, FollowsPyTorchStepByStep) {
  const auto runs = golden();
  ASSERT_GE(runs.size(), 7u);
  for (const Golden& g : runs) {
    ASSERT_GE(g.gradients.size(), 3u);
    ASSERT_EQ(g.gradients.size(), g.weights.size());
    replay<double>(g, 1e-14, 1);
    replay<double>(g, 1e-14, 0.25);
    on_each_set([&] { replay<float>(g, 1e-6, 1); });
    runtime::UsePath use(runtime::Path::reference);
    replay<float>(g, 1e-6, 0.25);
  }
}

TEST(Optim, TheFirstAdamWStepByHand) {
  // p = 1, g = 0.1: m̂/√v̂ = 1, so p = 1·(1 - 1e-3·0.1) - 1e-3·0.1/(0.1 + 1e-8).
  double w = 1, m = 0, v = 0;
  const double g = 0.1;
  adamw<double>({.lr = 1e-3, .weight_decay = 0.1}, &g, 1, &w, &m, &v);
  EXPECT_NEAR(w, 0.9989000001, 1e-10);
}

TEST(Optim, CutsAndThreadsChangeNoBit) {
  const int64_t n = 40000;
  const auto grad = normals<float>(n, 1);
  const auto start = normals<float>(n, 2);
  const AdamWStep step{.weight_decay = 0.1, .step = 3};
  on_each_set([&] {
    auto w = start;
    std::vector<float> m(n, 0.5f), v(n, 0.25f);
    for (int64_t i = 0; i < n; i += 333)
      adamw<float>(step, grad.data() + i, std::min<int64_t>(333, n - i),
                   w.data() + i, m.data() + i, v.data() + i);
    with_threads([&] {
      auto whole = start;
      std::vector<float> m2(n, 0.5f), v2(n, 0.25f);
      adamw<float>(step, grad.data(), n, whole.data(), m2.data(), v2.data());
      EXPECT_EQ(whole, w);
      EXPECT_EQ(m2, m);
      EXPECT_EQ(v2, v);
    });
  });
}

TEST(SumOfSquares, IsExactWhereDoublesAre) {
  on_each_set([] {
    for (int64_t n : {0, 1, 7, 16, 33, 16384, 16385, 100000}) {
      std::vector<float> x(n);
      double expected = 0;  // small integers: every order gives the same
      for (int64_t i = 0; i < n; ++i) {
        x[i] = static_cast<float>(i % 2048);
        expected += static_cast<double>(x[i]) * x[i];
      }
      EXPECT_EQ(sum_of_squares<float>(x.data(), n), expected);
      const std::vector<double> wide(x.begin(), x.end());
      EXPECT_EQ(sum_of_squares<double>(wide.data(), n), expected);
    }
    // Squares that f32 cannot hold.
    const float large = 1e30f;
    EXPECT_NEAR(sum_of_squares<float>(&large, 1) / 1e60, 1, 1e-6);
  });
}

}  // namespace
}  // namespace qkv::kernels
