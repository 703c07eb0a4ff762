#include "kernels/activation/activation.h"

#include <cmath>
#include <functional>

#include "tests/kernels/kernel_test.h"

namespace qkv::kernels {
namespace {

struct Case {
  const char* name;
  Activation kind;
  std::function<double(double)> f;
};
const std::vector<Case> kCases = {
    {"relu", Activation::relu, [](double x) { return x > 0 ? x : 0.0; }},
    {"gelu_tanh", Activation::gelu_tanh,
     [](double x) {
       return 0.5 * x *
              (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
     }},
    {"gelu_erf", Activation::gelu_erf,
     [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
    {"tanh", Activation::tanh, [](double x) { return std::tanh(x); }},
    {"sigmoid", Activation::sigmoid,
     [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"exp", Activation::exp, [](double x) { return std::exp(x); }},
    {"log", Activation::log, [](double x) { return std::log(x); }},
};

// Away from 0, where ReLU has no derivative and the logarithm no value.
std::vector<float> arguments(const Case& c, int64_t n) {
  auto x = normals<float>(n, 5);
  for (float& v : x) {
    if (c.kind == Activation::log) v = std::abs(v);
    v += v < 0 ? -0.1f : 0.1f;
  }
  return x;
}

template <class T>
void check(const Case& c, int64_t n, double tolerance, double slope_tolerance) {
  SCOPED_TRACE(::testing::Message() << c.name << " " << n);
  const auto x32 = arguments(c, n);
  const std::vector<T> x(x32.begin(), x32.end());
  const auto dy = normals<T>(n, 6);
  std::vector<T> y(n, T(kNaN)), dx(n, T(kNaN));
  activation<T>(c.kind, x.data(), n, y.data());
  activation_backward<T>(c.kind, saves_output(c.kind) ? y.data() : x.data(),
                         dy.data(), n, dx.data());
  std::vector<double> value, slope;
  for (int64_t i = 0; i < n; ++i) {
    value.push_back(c.f(x[i]));
    const double h = 1e-5;  // error of the difference: h² and 1e-16/h
    slope.push_back((c.f(x[i] + h) - c.f(x[i] - h)) / (2 * h) * dy[i]);
  }
  EXPECT_TRUE(near(y, value, tolerance));
  EXPECT_TRUE(near(dx, slope, slope_tolerance));
  auto in_place = x;
  activation<T>(c.kind, in_place.data(), n, in_place.data());
  EXPECT_EQ(in_place, y);
  if (saves_output(c.kind) || c.kind == Activation::log) return;
  std::vector<T> again(n, T(kNaN)), dx_beside(n, T(kNaN));
  activation_backward<T>(c.kind, x.data(), dy.data(), n, dx_beside.data(),
                         again.data());
  EXPECT_EQ(again, y);
  EXPECT_EQ(dx_beside, dx);
}

TEST(Activation, FastMatchesTheDefinitionAndItsDifferences) {
  on_each_set([] {
    for (const Case& c : kCases)
      for (int64_t n : kSizes) check<float>(c, n, 5e-7, 2e-6);
  });
}

TEST(Activation, ReferenceMatchesTheDefinitionAndItsDifferences) {
  for (const Case& c : kCases) check<double>(c, 300, 1e-14, 1e-8);
  runtime::UsePath use(runtime::Path::reference);
  for (const Case& c : kCases) check<float>(c, 300, 5e-7, 2e-6);
}

TEST(Activation, FarOutNumbersAndNaN) {
  on_each_set([] {
    for (auto path : {runtime::Path::automatic, runtime::Path::reference}) {
      runtime::UsePath use(path);
      const auto value = [](Activation kind, float x) {
        float y;
        activation<float>(kind, &x, 1, &y);
        return y;
      };
      const auto slope = [](Activation kind, float saved) {
        float dx;
        const float dy = 1;
        activation_backward<float>(kind, &saved, &dy, 1, &dx);
        return dx;
      };
      for (const Case& c : kCases) {
        EXPECT_TRUE(std::isnan(value(c.kind, kNaN))) << c.name;
        if (c.kind == Activation::relu) continue;  // the derivative is 0 or 1
        EXPECT_TRUE(std::isnan(slope(c.kind, kNaN))) << c.name;
      }
      for (Activation gelu : {Activation::gelu_tanh, Activation::gelu_erf}) {
        EXPECT_EQ(value(gelu, 100), 100);
        EXPECT_EQ(value(gelu, -100), 0);
        EXPECT_EQ(slope(gelu, 100), 1);
        EXPECT_EQ(slope(gelu, -100), 0);
        EXPECT_EQ(slope(gelu, 1e18f), 1);
        EXPECT_EQ(slope(gelu, -1e18f), 0);
        EXPECT_EQ(value(gelu, 1e18f), 1e18f);
      }
      EXPECT_EQ(slope(Activation::relu, 0), 0);
      EXPECT_EQ(value(Activation::sigmoid, -1000), 0);
      EXPECT_EQ(value(Activation::tanh, -1000), -1);
    }
  });
}

TEST(Activation, CutsChangeNoBit) {
  const int64_t n = 100003;
  const auto x = normals<float>(n, 1);
  on_each_set([&] {
    for (const Case& c : kCases) {
      std::vector<float> first(n), y(n);
      for (int64_t i = 0; i < n; i += 997)
        activation<float>(c.kind, x.data() + i, std::min<int64_t>(997, n - i),
                          first.data() + i);
      const Tensor expected = Tensor::from<float>({n}, first);
      with_threads([&] {
        activation<float>(c.kind, x.data(), n, y.data());
        EXPECT_TRUE(
            qkv::test::same_bits(Tensor::from<float>({n}, y), expected));
      });
    }
  });
}

}  // namespace
}  // namespace qkv::kernels
