// How PyTorch 2.15 turns MT19937 outputs into numbers on a CPU, checked draw by
// draw against it (tests/golden/make_rng_golden.py). Its kernels are compiled
// with fused multiply-add, hence std::fma where a bit depends on it.
#include <bit>
#include <cmath>
#include <numeric>
#include <span>

#include "core/check.h"
#include "core/parallel.h"
#include "qkv/rng.h"

namespace qkv {
namespace {

constexpr int kN = 624, kM = 397;  // MT19937's state and shift
constexpr double kTwoPi = 6.283185307179586;
constexpr std::int64_t kBlock = 16;  // normals are made by sixteens
constexpr std::int64_t kGrain = 1024 * kBlock;

template <class T>
T uniform01(TorchRng& rng) {
  if constexpr (sizeof(T) == 4)
    return rng.uniform_f32();
  else
    return rng.uniform_f64();
}

// Sixteen uniforms to sixteen normals in place (Box-Muller): the first eight
// give the radii, the last eight the angles.
template <class T>
void to_normals(T* x, T mean, T stddev) {
  for (int j = 0; j < 8; ++j) {
    const T radius = std::sqrt(-2 * std::log(1 - x[j]));  // 1 - x is in (0, 1]
    const T angle = static_cast<T>(kTwoPi) * x[j + 8];
    x[j] = std::fma(radius * std::cos(angle), stddev, mean);
    x[j + 8] = std::fma(radius * std::sin(angle), stddev, mean);
  }
}

// n >= 16. When 16 does not divide n, the last sixteen are drawn again, over
// numbers that were already normals.
template <class T>
void fill_normal(TorchRng& rng, T* x, std::int64_t n, T mean, T stddev) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = uniform01<T>(rng);
  parallel_ranges(n / kBlock * kBlock, kGrain,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; i += kBlock)
                      to_normals(x + i, mean, stddev);
                  });
  if (n % kBlock == 0) return;
  T* tail = x + n - kBlock;
  for (std::int64_t i = 0; i < kBlock; ++i) tail[i] = uniform01<T>(rng);
  to_normals(tail, mean, stddev);
}

// from and to are rounded to T before their difference is taken.
template <class T>
void fill_uniform(TorchRng& rng, T* x, std::int64_t n, T from, T to) {
  const T width = to - from;
  for (std::int64_t i = 0; i < n; ++i)
    x[i] = std::fma(uniform01<T>(rng), width, from);
}

// f(x's element) takes its place, in memory order.
template <class F>
void each(Tensor& x, F f) {
  if (x.dtype() == DType::f32)
    for (float& value : std::span(x.data<float>(), x.numel())) value = f(value);
  else
    for (double& value : std::span(x.data<double>(), x.numel()))
      value = f(value);
}

void check_probability(const char* what, double p) {
  if (!(p >= 0 && p <= 1))
    fail_input("[{}] p is {}; a probability is from 0 to 1", what, p);
}

void check_fillable(const char* what, const Tensor& out) {
  if (out.dtype() != DType::f32 && out.dtype() != DType::f64)
    fail_input("[{}] fills f32 and f64 tensors, not {}", what,
               name_of(out.dtype()));
  if (!out.contiguous())
    fail_input("[{}] fills contiguous tensors; {} has gaps or another order",
               what, out.shape().str());
}

}  // namespace

TorchRng::TorchRng(std::uint64_t seed) {
  mt_[0] = static_cast<std::uint32_t>(seed);
  for (std::uint32_t i = 1; i < kN; ++i)
    mt_[i] = 1812433253u * (mt_[i - 1] ^ (mt_[i - 1] >> 30)) + i;
}

void TorchRng::refill() {
  for (int i = 0; i < kN; ++i) {
    const std::uint32_t y =
        (mt_[i] & 0x80000000u) | (mt_[(i + 1) % kN] & 0x7fffffffu);
    mt_[i] = mt_[(i + kM) % kN] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0u);
  }
  next_ = 0;
}

std::uint32_t TorchRng::u32() {
  if (next_ == kN) refill();
  std::uint32_t y = mt_[next_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

std::uint64_t TorchRng::u64() {
  const std::uint64_t high = u32();
  return high << 32 | u32();
}

std::int64_t TorchRng::random63() {
  return static_cast<std::int64_t>(u64() & 0x7fffffffffffffff);
}

float TorchRng::uniform_f32() {
  return static_cast<float>(u32() & 0xffffff) * 0x1p-24f;
}

double TorchRng::uniform_f64() {
  return static_cast<double>(u64() & 0x1fffffffffffff) * 0x1p-53;
}

double TorchRng::normal_f64() {
  if (cached_) {
    cached_ = false;
    return cached_value_;
  }
  const double u1 = uniform_f64(), u2 = uniform_f64();
  const double radius = std::sqrt(-2 * std::log1p(-u2)), angle = kTwoPi * u1;
  cached_ = true;
  cached_value_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

void TorchRng::rand(Tensor& out) { uniform(out, 0, 1); }

void TorchRng::uniform(Tensor& out, double from, double to) {
  check_fillable("uniform", out);
  if (!(from <= to) || !std::isfinite(to - from))
    fail_input("[uniform] the bounds {} and {} are not a finite range", from,
               to);
  if (out.dtype() == DType::f32)
    fill_uniform(*this, out.data<float>(), out.numel(),
                 static_cast<float>(from), static_cast<float>(to));
  else
    fill_uniform(*this, out.data<double>(), out.numel(), from, to);
}

void TorchRng::randn(Tensor& out) { normal(out, 0, 1); }

void TorchRng::normal(Tensor& out, double mean, double stddev) {
  check_fillable("normal", out);
  if (!std::isfinite(mean) || !(stddev >= 0) || !std::isfinite(stddev))
    fail_input(
        "[normal] mean {} and stddev {} must be finite, stddev not "
        "negative",
        mean, stddev);
  const std::int64_t n = out.numel();
  if (n < kBlock) {  // few numbers come one by one, always in double
    for (std::int64_t i = 0; i < n; ++i) {
      const double value = std::fma(normal_f64(), stddev, mean);
      if (out.dtype() == DType::f32)
        out.data<float>()[i] = static_cast<float>(value);
      else
        out.data<double>()[i] = value;
    }
  } else if (out.dtype() == DType::f32) {
    fill_normal(*this, out.data<float>(), n, static_cast<float>(mean),
                static_cast<float>(stddev));
  } else {
    fill_normal(*this, out.data<double>(), n, mean, stddev);
  }
}

void TorchRng::bernoulli(Tensor& out, double p) {
  check_fillable("bernoulli", out);
  check_probability("bernoulli", p);
  each(out, [&](auto) { return bernoulli(p) ? 1 : 0; });
}

void TorchRng::exponential(Tensor& out, double rate) {
  check_fillable("exponential", out);
  if (!(rate > 0) || std::isinf(rate))
    fail_input("[exponential] the rate {} must be positive and finite", rate);
  // Always from a double, rounded last.
  each(out, [&](auto value) {
    return static_cast<decltype(value)>(-1 / rate * std::log1p(-uniform_f64()));
  });
}

void TorchRng::dropout(Tensor& x, double p) {
  check_fillable("dropout", x);
  check_probability("dropout", p);
  if (p == 0) return;
  // A product even where an element goes: NaN stays NaN.
  each(x, [&](auto value) {
    using T = decltype(value);
    const bool kept = p < 1 && bernoulli(1 - p);
    return value * (kept ? T{1} / static_cast<T>(1 - p) : T{0});
  });
}

std::int64_t TorchRng::randint(std::int64_t n) {
  if (n < 1) fail_input("[randint] the range must hold a number, not {}", n);
  const auto range = static_cast<std::uint64_t>(n);
  // From 2^28 on the bias of a 32-bit remainder would show.
  const std::uint64_t bits = range < (1u << 28) ? u32() : u64();
  return static_cast<std::int64_t>(bits % range);
}

std::vector<std::int64_t> TorchRng::randperm(std::int64_t n) {
  if (n < 0) fail_input("[randperm] {} is negative", n);
  std::vector<std::int64_t> r(static_cast<std::size_t>(n));
  std::iota(r.begin(), r.end(), 0);
  for (std::int64_t i = 0; i + 1 < n; ++i)
    std::swap(r[i], r[i + u32() % (n - i)]);
  return r;
}

bool TorchRng::bernoulli(double p) { return uniform_f64() < p; }

std::int64_t TorchRng::multinomial(const float* weights, std::int64_t n) {
  bool drawable = false;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(weights[i] >= 0) || std::isinf(weights[i]))
      fail_input(
          "[multinomial] weight {} is {}; weights must be finite and "
          "not negative",
          i, weights[i]);
    drawable |= weights[i] > 0;
  }
  if (!drawable) fail_input("[multinomial] none of {} weights is positive", n);
  std::int64_t best = -1;
  float best_score = -1;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto q = static_cast<float>(-std::log1p(-uniform_f64()));
    if (weights[i] == 0) continue;
    const float score = weights[i] / q;
    if (score > best_score) {
      best = i;
      best_score = score;
    }
  }
  return best;
}

std::vector<std::uint32_t> TorchRng::state() const {
  std::vector<std::uint32_t> state(mt_.begin(), mt_.end());
  const auto value = std::bit_cast<std::uint64_t>(cached_value_);
  state.insert(state.end(),
               {next_, cached_ ? 1u : 0u, static_cast<std::uint32_t>(value),
                static_cast<std::uint32_t>(value >> 32)});
  return state;
}

void TorchRng::set_state(const std::vector<std::uint32_t>& state) {
  if (state.size() != kN + 4)
    fail_input("a TorchRng state has {} words, not {}", kN + 4, state.size());
  if (state[kN] > kN || state[kN + 1] > 1)
    fail_input("this is not a TorchRng state: position {}, flag {}", state[kN],
               state[kN + 1]);
  std::copy_n(state.begin(), kN, mt_.begin());
  next_ = state[kN];
  cached_ = state[kN + 1] == 1;
  cached_value_ =
      std::bit_cast<double>(std::uint64_t{state[kN + 3]} << 32 | state[kN + 2]);
}

}  // namespace qkv
