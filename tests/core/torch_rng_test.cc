#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <string>

#include "core/tensor_impl.h"
#include "qkv/error.h"
#include "qkv/nn/layers.h"
#include "qkv/rng.h"
#include "qkv/runtime.h"
#include "tests/support/data_files.h"

namespace qkv {
namespace {

using Values = std::vector<long double>;  // holds 63-bit integers exactly

void append(Values& values, const Tensor& tensor) {
  for (double x : tensor.to_vector<double>()) values.push_back(x);
}

// Runs one call of golden/rng.txt or rng_recipe.txt; returns all its results.
Values run_call(TorchRng& rng, std::istringstream& call) {
  std::string kind, type;
  call >> kind;
  Values values;
  if (kind == "uniform" || kind == "normal") {
    std::int64_t n;
    double a, b;
    call >> type >> n >> a >> b;
    Tensor out = Tensor::empty({n}, type == "f32" ? DType::f32 : DType::f64);
    if (kind == "uniform")
      rng.uniform(out, a, b);
    else
      rng.normal(out, a, b);
    append(values, out);
  } else if (kind == "bernoulli_" || kind == "exponential_" ||
             kind == "dropout") {
    double argument;
    std::int64_t n;
    call >> type >> argument >> n;
    Tensor x = Tensor::empty({n}, DType::f64);
    for (std::int64_t i = 0; i < n; ++i)
      x.data<double>()[i] = static_cast<double>(i) - 3.5;
    if (type == "f32") x = x.to(DType::f32);
    if (kind == "bernoulli_")
      rng.bernoulli(x, argument);
    else if (kind == "exponential_")
      rng.exponential(x, argument);
    else
      rng.dropout(x, argument);
    append(values, x);
  } else if (kind == "multinomial") {
    int draws, n;
    call >> draws >> n;
    std::vector<float> weights(static_cast<std::size_t>(n));
    for (float& weight : weights) call >> weight;
    for (int i = 0; i < draws; ++i)
      values.push_back(rng.multinomial(weights.data(), n));
  } else if (kind == "randint") {
    std::int64_t n;
    call >> n;
    values.push_back(rng.randint(n));
  } else if (kind == "randperm") {
    std::int64_t n;
    call >> n;
    for (std::int64_t i : rng.randperm(n)) values.push_back(i);
  } else if (kind == "random63") {
    values.push_back(rng.random63());
  } else if (kind == "bernoulli") {
    double p;
    int n;
    call >> p >> n;
    for (int i = 0; i < n; ++i) values.push_back(rng.bernoulli(p));
  } else if (kind == "linear" || kind == "embedding") {
    std::int64_t a, b;
    call >> a >> b;
    nn::default_rng() = rng;
    if (kind == "linear") {  // the last four of the weight, then of the bias
      const nn::Linear layer(a, b);
      append(values, layer.weight);
      values.erase(values.begin(), values.end() - 4);
      append(values, layer.bias);
      if (b > 4) values.erase(values.begin() + 4, values.end() - 4);
    } else {
      append(values, nn::Embedding(a, b).weight);
    }
    rng = nn::default_rng();
  } else {
    ADD_FAILURE() << "unknown call " << kind;
  }
  return values;
}

// Normals go through log, sin and cos, exponentials through log1p, whose last
// bits differ between libraries; all else is exact.
long double tolerance(const std::string& call, long double value) {
  const bool f64 = call.find("f64") != std::string::npos;
  if (call.starts_with("exponential_"))
    return 2 * (f64 ? 0x1p-53 : 0x1p-24) * std::abs(value);
  const bool normal =
      call.starts_with("normal") || call.starts_with("embedding");
  if (!normal) return 0;
  return 4 * (f64 ? 0x1p-53 : 0x1p-24) * (1 + std::abs(value));
}

void expect_draws(const std::string& name, int least) {
  std::ifstream file(QKV_SOURCE_DIR "/tests/golden/" + name);
  ASSERT_TRUE(file);
  TorchRng rng(0);
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    if (line.starts_with("seed ")) {
      rng = TorchRng(std::stoull(line.substr(5)));
      continue;
    }
    const auto colon = line.find(" :");
    ASSERT_NE(colon, std::string::npos) << line;
    std::istringstream call(line.substr(0, colon));
    std::istringstream expected(line.substr(colon + 2));
    std::vector<std::string> words;
    for (std::string word; expected >> word;) words.push_back(word);
    const Values values = run_call(rng, call);
    ASSERT_GE(values.size(), words.size()) << line;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const long double want = std::strtold(words[i].c_str(), nullptr);
      const long double got = values[values.size() - words.size() + i];
      ASSERT_LE(std::abs(got - want), tolerance(line, want)) << line;
      ++compared;
    }
  }
  EXPECT_GT(compared, least);
}

TEST(TorchRng, EqualsTorchDrawByDraw) { expect_draws("rng.txt", 1000); }

// What PyTorch draws otherwise on Intel's processors.
TEST(TorchRng, EqualsTorchsRecipeDrawByDraw) {
  expect_draws("rng_recipe.txt", 700);
}

TEST(TorchRng, IsTheMersenneTwister) {
  for (std::uint32_t seed : {0u, 5489u, 0xffffffffu}) {
    TorchRng rng(seed);
    std::mt19937 standard(seed);
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(rng.u32(), standard());
  }
  // Only the seed's low half counts.
  EXPECT_EQ(TorchRng(std::uint64_t{1} << 32 | 42).u64(), TorchRng(42).u64());
}

// Printed in the second lecture's notebook: torch.rand(3, generator=g).
TEST(TorchRng, GivesTheLecturesFirstNumbers) {
  TorchRng rng(2147483647);
  Tensor out = Tensor::empty({3});
  rng.rand(out);
  const auto x = out.to_vector<float>();
  EXPECT_NEAR(x[0], 0.7081, 5e-5);
  EXPECT_NEAR(x[1], 0.3542, 5e-5);
  EXPECT_NEAR(x[2], 0.1054, 5e-5);
}

TEST(TorchRng, GivesTheBigramLecturesNames) {
  const auto path = test::data_file("names.txt");
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << path << " is missing";
  // N + 1 by row, normalised in f32 as the lecture does.
  std::vector<float> p(27 * 27, 1);
  for (std::string word; std::getline(file, word);) {
    int from = 0;
    for (char c : word) {
      ++p[from * 27 + (c - 'a' + 1)];
      from = c - 'a' + 1;
    }
    ++p[from * 27];
  }
  for (int i = 0; i < 27; ++i) {
    float sum = 0;
    for (int j = 0; j < 27; ++j) sum += p[i * 27 + j];
    for (int j = 0; j < 27; ++j) p[i * 27 + j] /= sum;
  }
  TorchRng rng(2147483647);
  std::string names;
  for (int i = 0; i < 5; ++i) {
    std::int64_t at = 0;
    do {
      at = rng.multinomial(p.data() + at * 27, 27);
      names += at == 0 ? '.' : static_cast<char>('a' + at - 1);
    } while (at != 0);
    names += ' ';
  }
  EXPECT_EQ(names, "cexze. momasurailezitynn. konimittain. llayn. ka. ");
}

TEST(TorchRng, StateResumesTheStreamExactly) {
  TorchRng rng(3407);
  Tensor odd = Tensor::empty({5}, DType::f64);
  rng.randn(odd);  // leaves a cached normal
  for (int i = 0; i < 700; ++i) rng.u32();
  const auto state = rng.state();
  TorchRng copy(0);
  copy.set_state(state);
  EXPECT_EQ(copy.state(), state);
  for (TorchRng* r : {&rng, &copy}) r->u32();
  Tensor a = Tensor::empty({5}, DType::f64), b = a.clone();
  rng.randn(a);
  copy.randn(b);
  EXPECT_EQ(a.to_vector<double>(), b.to_vector<double>());
  for (int i = 0; i < 1300; ++i) ASSERT_EQ(rng.u32(), copy.u32());
}

TEST(TorchRng, RefusesAStateThatIsNone) {
  TorchRng rng(1);
  auto state = rng.state();
  state[624] = 625;
  EXPECT_THROW(rng.set_state(state), Error);
  state.pop_back();
  EXPECT_THROW(rng.set_state(state), Error);
  EXPECT_EQ(rng.u32(), TorchRng(1).u32());  // unharmed
}

TEST(TorchRng, NormalsDoNotDependOnTheThreads) {
  const int before = runtime::threads();
  std::vector<std::vector<float>> results;
  for (int threads : {1, 2, 3}) {
    runtime::set_threads(threads);
    Tensor x = Tensor::empty({100003});
    TorchRng(7).randn(x);
    results.push_back(x.to_vector<float>());
  }
  runtime::set_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(TorchRng, RefusesWhatItCannotFill) {
  TorchRng rng(1);
  Tensor ids = Tensor::empty({20}, DType::i64);
  EXPECT_THROW(rng.rand(ids), Error);
  Tensor half = Tensor::empty({20}, DType::bf16);
  EXPECT_THROW(rng.randn(half), Error);
  Tensor x = Tensor::empty({4, 5});
  Tensor transposed = view_of(x, {5, 4}, {1, 5});
  EXPECT_THROW(rng.rand(transposed), Error);
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(rng.uniform(x, 1, 0), Error);
  EXPECT_THROW(rng.uniform(x, 0, inf), Error);
  EXPECT_THROW(rng.uniform(x, nan, 1), Error);
  EXPECT_THROW(rng.normal(x, 0, -1), Error);
  EXPECT_THROW(rng.normal(x, nan, 1), Error);
  EXPECT_THROW(rng.bernoulli(x, 1.01), Error);
  EXPECT_THROW(rng.bernoulli(ids, 0.5), Error);
  EXPECT_THROW(rng.exponential(x, 0), Error);
  EXPECT_THROW(rng.exponential(x, inf), Error);
  EXPECT_THROW(rng.exponential(transposed), Error);
  EXPECT_THROW(rng.dropout(x, nan), Error);
  EXPECT_THROW(rng.dropout(x, -0.1), Error);
  EXPECT_THROW(rng.dropout(half, 0.5), Error);
  EXPECT_THROW(rng.randint(0), Error);
  EXPECT_THROW(rng.randperm(-1), Error);
  EXPECT_EQ(rng.u32(), TorchRng(1).u32());  // nothing was drawn
}

TEST(TorchRng, MultinomialRefusesBadWeights) {
  TorchRng rng(1);
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (float bad : {-1e-9f, inf, nan}) {
    const float weights[] = {1, bad, 1};
    EXPECT_THROW(rng.multinomial(weights, 3), Error);
  }
  const float zeros[] = {0, 0};
  EXPECT_THROW(rng.multinomial(zeros, 2), Error);
  EXPECT_THROW(rng.multinomial(zeros, 0), Error);
}

TEST(TorchRng, MultinomialFollowsTheWeights) {
  TorchRng rng(11);
  const float weights[] = {0, 1, 2, 0, 5, 1e-30f};  // any scale
  int counts[6] = {};
  const int draws = 80000;
  for (int i = 0; i < draws; ++i) ++counts[rng.multinomial(weights, 6)];
  EXPECT_EQ(counts[0] + counts[3] + counts[5], 0);
  // Within five standard deviations of the binomial.
  for (int i : {1, 2, 4}) {
    const double p = weights[i] / 8.0;
    EXPECT_NEAR(counts[i], draws * p, 5 * std::sqrt(draws * p * (1 - p)));
  }
}

}  // namespace
}  // namespace qkv
