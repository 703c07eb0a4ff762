#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "core/tensor_impl.h"
#include "qkv/error.h"
#include "qkv/optim.h"
#include "qkv/runtime.h"

namespace qkv::optim {
namespace {

using Strings = std::vector<std::string>;

Tensor parameter(const Shape& shape, std::vector<double> values,
                 DType dtype = DType::f64) {
  Tensor x = Tensor::from<double>(shape, values).to(dtype);
  x.set_requires_grad();
  return x;
}
void give(Tensor x, const std::vector<double>& grad) {
  x.set_grad(Tensor::from<double>(x.shape(), grad).to(x.dtype()));
}

// As tests/golden/make_optimizer_golden.py has them.
std::vector<double> start(int n, int salt) {
  std::vector<double> x;
  for (int i = 0; i < n; ++i) x.push_back(((i * 5 + salt) % 9 - 4) / 4.0);
  return x;
}
std::vector<double> gradient(int n, int salt, int step) {
  std::vector<double> x;
  for (int i = 0; i < n; ++i)
    x.push_back(((i * 7 + step * 13 + salt) % 11 - 5) / 8.0);
  return x;
}

using Options = std::map<std::string, double>;

// b's decay differs from a's only by the rule: none for vectors.
std::unique_ptr<Optimizer> make(const std::string& kind, Options o,
                                const std::vector<NamedTensor>& parameters) {
  auto get = [&](const char* name, double otherwise) {
    return o.contains(name) ? o[name] : otherwise;
  };
  const double wd = get("wd", 0), wd_b = get("wd_b", 0);
  EXPECT_TRUE(wd == wd_b || wd_b == 0);
  auto list = parameters_of(parameters,
                            wd == wd_b ? DecayRule::all : DecayRule::matrices);
  if (kind == "adamw")
    return adamw(std::move(list), {.beta1 = get("beta1", 0.9),
                                   .beta2 = get("beta2", 0.999),
                                   .eps = get("eps", 1e-8),
                                   .weight_decay = wd});
  return sgd(std::move(list), {.momentum = get("momentum", 0),
                               .weight_decay = wd,
                               .nesterov = get("nesterov", 0) != 0});
}

// One step as a training loop takes it; returns the norm before clipping.
double step(Optimizer& optimizer, double lr, double max_norm = 0) {
  const double norm = grad_norm(optimizer.parameters());
  optimizer.step(lr, clip_scale(norm, max_norm));
  return norm;
}

// Runs every case of golden/optimizer.txt in one type.
void compare_with_torch(DType dtype, double tolerance) {
  std::ifstream file(QKV_SOURCE_DIR "/tests/golden/optimizer.txt");
  ASSERT_TRUE(file);
  std::string line, name;
  Options options;
  Tensor a, b;
  std::unique_ptr<Optimizer> optimizer;
  int next = 0, compared = 0;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word, kind;
    words >> word;
    if (word == "case") {
      name = line;
      options.clear();
      for (words >> kind; words >> word;) {
        const auto equals = word.find('=');
        options[word.substr(0, equals)] = std::stod(word.substr(equals + 1));
      }
      a = parameter({3, 4}, start(12, 0), dtype);
      b = parameter({5}, start(5, 3), dtype);
      optimizer = make(kind, options, {{"a", a}, {"b", b}});
      next = 0;
    } else if (word == "step") {
      int last = 0;
      words >> last;
      double norm = 0;
      for (; next <= last; ++next) {
        give(a, gradient(12, 0, next));
        give(b, gradient(5, 2, next));
        norm =
            step(*optimizer, options["lr"] / (1 + next % 3), options["clip"]);
      }
      std::vector<double> got{norm};
      for (const Tensor& x : {a, b})
        for (double value : x.to_vector<double>()) got.push_back(value);
      for (double value : got) {
        ASSERT_TRUE(words >> word);
        const double want = std::strtod(word.c_str(), nullptr);
        ASSERT_NEAR(value, want, tolerance * std::max(1.0, std::abs(want)))
            << name << " step " << last;
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 11 * 4 * 18);
}

TEST(Optimizers, EqualTorchInF64) { compare_with_torch(DType::f64, 2e-15); }
TEST(Optimizers, EqualTorchInF32) { compare_with_torch(DType::f32, 2e-6); }

std::unique_ptr<Optimizer> adamw_of(const std::vector<NamedTensor>& parameters,
                                    const AdamWOptions& options = {}) {
  return adamw(parameters_of(parameters, DecayRule::all), options);
}

// One step, worked out: 1·(1 - 1e-4) - 1e-3·0.1/(0.1 + 1e-8).
TEST(AdamW, CorrectsItsMomentsForTheirStart) {
  Tensor p = parameter({1}, {1});
  const auto optimizer = adamw_of({{"p", p}}, {.weight_decay = 0.1});
  give(p, {0.1});
  optimizer->step(1e-3);
  EXPECT_NEAR(p.item(), 0.9989000001, 1e-13);
}

// With a constant gradient the corrected moments are g and g² at every step, so
// each moves p by lr·g/(g + eps).
TEST(AdamW, TheCorrectionDoesNotCompound) {
  for (DType dtype : {DType::f32, DType::f64}) {
    Tensor p = parameter({1}, {0}, dtype);
    const auto optimizer = adamw_of({{"p", p}}, {.weight_decay = 0});
    for (int update = 1; update <= 3; ++update) {
      give(p, {0.1});
      optimizer->step(1e-3);
      EXPECT_NEAR(p.item(), -update * 1e-3 * 0.1 / (0.1 + 1e-8),
                  dtype == DType::f32 ? 1e-9 : 1e-15);
      EXPECT_EQ(optimizer->updates(), update);
    }
  }
}

TEST(AdamW, ZeroGradientsOnlyDecay) {
  Tensor p = parameter({2}, {1, -2});
  const auto optimizer = adamw_of({{"p", p}}, {.weight_decay = 0.1});
  give(p, {0, 0});
  EXPECT_EQ(step(*optimizer, 1e-2, /*max_norm=*/1), 0);
  EXPECT_EQ(p.to_vector<double>(), (std::vector<double>{0.999, -1.998}));
}

TEST(ParametersOf, KeepsATiedParameterOnce) {
  Tensor p = parameter({2, 2}, {1, 1, 1, 1});
  const auto tied =
      parameters_of({{"wte.weight", p}, {"lm_head.weight", p}}, DecayRule::all);
  ASSERT_EQ(tied.size(), 1u);
  EXPECT_EQ(tied[0].name, "wte.weight");
  const auto optimizer = sgd(tied);
  give(p, {1, 2, 2, 4});
  optimizer->step(0.1);
  EXPECT_EQ(p.to_vector<double>(), (std::vector<double>{0.9, 0.8, 0.8, 0.6}));
  Strings names;
  for (const auto& s : adamw(tied)->state()) names.push_back(s.name);
  EXPECT_EQ(names, (Strings{"m.wte.weight", "v.wte.weight"}));
}

TEST(ParametersOf, ATiedTableIsATableByAnyName) {
  const Tensor p = parameter({2, 2}, {1, 1, 1, 1});
  const auto tied =
      parameters_of({{"lm_head.weight", p}, {"wte.weight", p, /*table=*/true}},
                    DecayRule::linear);
  ASSERT_EQ(tied.size(), 1u);
  EXPECT_FALSE(tied[0].decays);
}

TEST(ParametersOf, SharedMemoryWithTwoGradientsIsAnError) {
  // An optimizer would follow one of them and lose the other.
  Tensor a = parameter({2}, {1, 2}), b = a.detach();
  b.set_requires_grad();
  EXPECT_THROW(parameters_of({{"a", a}, {"b", b}}, DecayRule::all), Error);
  b.set_requires_grad(false);
  EXPECT_EQ(parameters_of({{"a", a}, {"b", b}}, DecayRule::all).size(), 1u);
}

TEST(Optimizer, SkipsWhatHasNoGradient) {
  Tensor a = parameter({1}, {1}), unused = parameter({1}, {1}),
         frozen = Tensor::from<double>({1}, {1});
  const auto optimizer =
      adamw_of({{"a", a}, {"unused", unused}, {"frozen", frozen}});
  EXPECT_THROW(optimizer->step(0.1), Error);  // none has one
  EXPECT_EQ(optimizer->updates(), 0);
  give(a, {0.1});
  optimizer->step(0.1);
  EXPECT_NE(a.item(), 1);
  EXPECT_EQ(unused.item(), 1);
  EXPECT_EQ(frozen.item(), 1);
  optimizer->zero_grad();
  EXPECT_FALSE(a.grad().defined());
}

TEST(Optimizer, StateResumesToTheBit) {
  for (const char* kind : {"adamw", "sgd"})
    for (DType dtype : {DType::f32, DType::f64}) {
      const Options options{{"wd", 0.1}, {"momentum", 0.9}};
      const auto fresh = [&] {
        return std::vector<NamedTensor>{
            {"a", parameter({3, 4}, start(12, 0), dtype)},
            {"b", parameter({5}, start(5, 3), dtype)}};
      };
      const auto run = [&](std::vector<NamedTensor>& all, Optimizer& optimizer,
                           int from, int to) {
        for (int i = from; i < to; ++i) {
          give(all[0].tensor, gradient(12, 0, i));
          give(all[1].tensor, gradient(5, 2, i));
          step(optimizer, 0.01, 0.5);
        }
      };
      auto straight = fresh(), stopped = fresh();
      const auto whole = make(kind, options, straight);
      run(straight, *whole, 0, 20);
      const auto first = make(kind, options, stopped);
      run(stopped, *first, 0, 10);
      std::vector<NamedTensor> saved;
      for (const auto& s : first->state())
        saved.push_back({s.name, s.tensor.clone()});
      const auto second = make(kind, options, stopped);
      second->set_state(saved, first->updates());
      run(stopped, *second, 10, 20);

      EXPECT_EQ(second->updates(), 20);
      for (int i : {0, 1})
        EXPECT_EQ(stopped[i].tensor.to_vector<double>(),
                  straight[i].tensor.to_vector<double>());
      const auto x = whole->state(), y = second->state();
      ASSERT_EQ(x.size(), y.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_EQ(x[i].name, y[i].name);
        EXPECT_EQ(x[i].tensor.dtype(), dtype);
        EXPECT_EQ(x[i].tensor.to_vector<double>(),
                  y[i].tensor.to_vector<double>());
      }
    }
}

TEST(Optimizer, RefusesAStateThatDoesNotFit) {
  Tensor p = parameter({2}, {1, 2}, DType::f32);
  const auto optimizer = adamw_of({{"p", p}});
  give(p, {1, 2});
  optimizer->step(0.1);
  const auto before = optimizer->state()[0].tensor.to_vector<float>();
  const NamedTensor m{"m.p", Tensor::zeros({2})}, v{"v.p", Tensor::zeros({2})};
  const auto refused = [&](std::vector<NamedTensor> state,
                           std::int64_t updates = 1) -> std::string {
    try {
      optimizer->set_state(state, updates);
    } catch (const Error& error) {
      EXPECT_EQ(optimizer->updates(), 1);  // nothing was changed
      EXPECT_EQ(optimizer->state()[0].tensor.to_vector<float>(), before);
      return error.what();
    }
    return "accepted";
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
  };
  EXPECT_TRUE(contains(refused({m}), "'v.p' is missing"));
  EXPECT_TRUE(contains(refused({m, v, {"m.q", m.tensor}}), "m.q"));
  EXPECT_TRUE(contains(refused({m, v, m}), "twice"));
  EXPECT_TRUE(contains(refused({m, {"v.p", Tensor::zeros({3})}}), "(3)"));
  // Moments rounded through another type are not the state.
  EXPECT_TRUE(
      contains(refused({m, {"v.p", v.tensor.to(DType::bf16)}}), "bf16"));
  EXPECT_TRUE(contains(refused({m, v}, -1), "-1"));
  EXPECT_TRUE(contains(refused({}), "m.p"));
  EXPECT_EQ(refused({m, v}, 7), "accepted");
  EXPECT_EQ(optimizer->updates(), 7);
}

TEST(Optimizer, RefusesImpossibleOptions) {
  Tensor p = parameter({2}, {1, 2});
  give(p, {1, 1});
  const auto all = parameters_of({{"p", p}}, DecayRule::all);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (double beta : {-0.1, 1.0, nan}) {
    EXPECT_THROW(adamw(all, {.beta1 = beta}), Error);
    EXPECT_THROW(adamw(all, {.beta2 = beta}), Error);
  }
  EXPECT_THROW(adamw(all, {.eps = -1}), Error);
  EXPECT_THROW(adamw(all, {.weight_decay = nan}), Error);
  EXPECT_THROW(sgd(all, {.momentum = -1}), Error);
  EXPECT_THROW(sgd(all, {.weight_decay = inf}), Error);
  EXPECT_THROW(sgd(all, {.nesterov = true}), Error);
  const auto optimizer = adamw(all);
  for (double bad : {-1.0, nan, inf}) {
    EXPECT_THROW(optimizer->step(bad), Error);
    EXPECT_THROW(optimizer->step(0.1, bad), Error);
  }
  EXPECT_EQ(optimizer->updates(), 0);
  optimizer->step(0);  // allowed: it moves nothing
  EXPECT_EQ(p.to_vector<double>(), (std::vector<double>{1, 2}));
  const Tensor strided = view_of(Tensor::zeros({4}), {2}, {2});
  EXPECT_THROW(adamw({{"s", strided}}), Error);
}

TEST(Optimizer, BitsDoNotDependOnTheThreads) {
  const int before = runtime::threads();
  std::vector<std::vector<float>> results;
  std::vector<double> norms;
  for (int threads : {1, 2, 3}) {
    runtime::set_threads(threads);
    const std::int64_t n = 200003;
    Tensor p = Tensor::zeros({n}), g = Tensor::empty({n});
    for (std::int64_t i = 0; i < n; ++i)
      g.data<float>()[i] = 1.0f / static_cast<float>(i % 977 + 1);
    p.set_requires_grad();
    p.set_grad(g);
    const auto optimizer = adamw_of({{"p", p}});
    step(*optimizer, 0.1, 1);
    norms.push_back(step(*optimizer, 0.1, 1));
    results.push_back(p.to_vector<float>());
  }
  runtime::set_threads(before);
  for (int i : {1, 2}) {
    EXPECT_EQ(results[i], results[0]);
    EXPECT_EQ(norms[i], norms[0]);
  }
}

}  // namespace
}  // namespace qkv::optim
