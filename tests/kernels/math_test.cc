// The errors that kernels/math-inl.h states, over the range of f32.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "tests/kernels/kernel_test.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/kernels/math_test.cc"
#include <hwy/foreach_target.h>
//
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

void apply(int function, const float* x, std::int64_t n, float* y) {
  each(n, [&](std::int64_t i, auto lanes) QKV_INLINE_LAMBDA {
    const Vec v = load(x + i, lanes);
    Vec out = v;
    if (function == 0) out = exp(v);
    if (function == 1) out = exp_nonpositive(v);
    if (function == 2) out = log(v);
    if (function == 3) out = tanh(v);
    if (function == 4) out = erf(v);
    if (function == 5) out = sigmoid(v);
    if (function == 6) out = exp2(v);
    if (function == 7) out = quotient(set(1.0f), v);
    store(out, y + i, lanes);
  });
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {
namespace {

HWY_EXPORT(apply);

struct Function {
  const char* name;
  int index;
  double (*exact)(double);
  double ulp;         // the largest error allowed
  float least, most;  // where it is tested
};
const Function kFunctions[] = {
    {"exp", 0, [](double x) { return std::exp(x); }, 1, -kInfinity, kInfinity},
    {"exp_nonpositive", 1, [](double x) { return std::exp(x); }, 1, -87.33f, 0},
    {"log", 2, [](double x) { return std::log(x); }, 1, 0, kInfinity},
    {"tanh", 3, [](double x) { return std::tanh(x); }, 2, -kInfinity,
     kInfinity},
    {"erf", 4, [](double x) { return std::erf(x); }, 1, -kInfinity, kInfinity},
    {"sigmoid", 5, [](double x) { return 1 / (1 + std::exp(-x)); }, 2.5,
     -87.33f, kInfinity},
    {"exp2", 6, [](double x) { return std::exp2(x); }, 3.5, -99.49f, 126},
    {"quotient", 7, [](double x) { return 1 / x; }, 1, 1, 0x1p64f},
};

std::vector<float> run(int function, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  HWY_DYNAMIC_DISPATCH(apply)
  (function, x.data(), static_cast<int64_t>(x.size()), y.data());
  return y;
}

// |got - exact| in units of the last place of exact as f32; 2^-149 for
// subnormal results.
double error_in_ulp(float got, double exact) {
  if (static_cast<float>(exact) == got)
    return std::abs(got - exact) == 0 ? 0 : 0.5;
  if (!std::isfinite(got)) return HUGE_VAL;
  int exponent;
  std::frexp(exact, &exponent);
  return std::abs(got - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

// Every 1021st float from least to most: four million over the whole line.
std::vector<float> floats_between(float least, float most) {
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 1021) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (value >= least && value <= most) x.push_back(value);
  }
  return x;
}

TEST(Math, ErrorsStayWithinWhatIsStated) {
  on_each_set([] {
    for (const Function& f : kFunctions) {
      const std::vector<float> x = floats_between(f.least, f.most);
      ASSERT_GT(x.size(), 100000u);
      const std::vector<float> y = run(f.index, x);
      double worst = 0;
      float where = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double error = error_in_ulp(y[i], f.exact(x[i]));
        if (!(error <= worst)) worst = error, where = x[i];
      }
      RecordProperty(f.name, std::to_string(worst));
      EXPECT_LE(worst, f.ulp) << f.name << " at " << where;
    }
  });
}

// Every float just around the places where a function changes its formula.
TEST(Math, ErrorsStayWithinWhatIsStatedWhereFormulasMeet) {
  const std::vector<float> places = {
      0.0f,  0x1p-126f, 0.34657359f, 0.5f,  0.625f, 0.70710678f, 1.0f,  4.0f,
      9.01f, 43.66f,    87.33f,      88.0f, 88.72f, 103.97f,     104.0f};
  on_each_set([&] {
    for (const Function& f : kFunctions)
      for (float place : places)
        for (float sign : {1.0f, -1.0f}) {
          std::vector<float> x;
          const auto center = std::bit_cast<std::uint32_t>(place);
          for (std::uint32_t i = 0; i < 2000; ++i) {
            if (center + i < 1000) continue;
            const float value = sign * std::bit_cast<float>(center + i - 1000);
            if (value >= f.least && value <= f.most) x.push_back(value);
          }
          const std::vector<float> y = run(f.index, x);
          for (std::size_t i = 0; i < x.size(); ++i)
            ASSERT_LE(error_in_ulp(y[i], f.exact(x[i])), f.ulp)
                << f.name << " at " << x[i] << ": " << y[i];
        }
  });
}

TEST(Math, LimitsAndNaN) {
  on_each_set([] {
    const std::vector<float> x = {-kInfinity, kInfinity, kNaN,
                                  -0.0f,      -1e30f,    1e30f};
    const auto check = [&](int f, const std::vector<float>& expected) {
      const std::vector<float> y = run(f, x);
      for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_TRUE(y[i] == expected[i] ||
                    (std::isnan(y[i]) && std::isnan(expected[i])))
            << f << " at " << x[i] << ": " << y[i];
    };
    check(0, {0, kInfinity, kNaN, 1, 0, kInfinity});
    check(2, {kNaN, kInfinity, kNaN, -kInfinity, kNaN, std::log(1e30f)});
    check(3, {-1, 1, kNaN, 0, -1, 1});
    check(4, {-1, 1, kNaN, 0, -1, 1});
    check(5, {0, 1, kNaN, 0.5f, 0, 1});
    const std::vector<float> low = run(1, {-kInfinity, kNaN, -87.34f, 0.0f});
    EXPECT_EQ(low[0], 0);
    EXPECT_TRUE(std::isnan(low[1]));
    EXPECT_EQ(low[2], 0);
    EXPECT_EQ(low[3], 1);
  });
}

}  // namespace
}  // namespace qkv::kernels
#endif  // HWY_ONCE
