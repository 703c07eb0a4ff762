// Random numbers. Philox: counter-based, for everything in training. TorchRng:
// PyTorch's CPU generator draw for draw, for initial weights and data order.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "qkv/export.h"
#include "qkv/tensor.h"

namespace qkv {

// Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1,
// 2, 3"): ten rounds over a 128-bit counter under a 64-bit key. A pure
// function.
QKV_API std::array<std::uint32_t, 4> philox4x32(
    std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// The name of an independent random stream, from a module's path (FNV-1a).
// before: the id of the path's beginning, where it is made piece by piece.
QKV_API std::uint64_t stream_id(std::string_view path,
                                std::uint64_t before = 0xcbf29ce484222325);

// What a random decision in training depends on besides its index: the run's
// seed, the step, and the stream of the place. Key and counter of Philox are
// (seed low, seed high ^ step high) and (index low, index high, step low ^
// stream high, stream low).
struct QKV_API StepRng {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;

  // Four numbers for block `index` of `stream`.
  std::array<std::uint32_t, 4> draw(std::uint64_t stream,
                                    std::uint64_t index) const;
  // In [0, 1): the top 24 bits of one of them (index counts single numbers).
  float uniform(std::uint64_t stream, std::uint64_t index) const;
};

// PyTorch's CPU generator: MT19937 (seeded by init_genrand with the seed's low
// 32 bits) with PyTorch's own ways of making floats, normals, integers and
// permutations from it. Uniforms and integers equal PyTorch's to the bit, f32
// normals to a few ulp (its vectorised log, sin and cos are not ours). On Intel
// processors PyTorch draws bernoulli_ and exponential_ (so multinomial) from
// MKL's generator; this one follows what it does on all others.
class QKV_API TorchRng {
 public:
  explicit TorchRng(std::uint64_t seed);

  std::uint32_t u32();      // the next 32-bit output
  std::uint64_t u64();      // two of them, the first one high
  std::int64_t random63();  // torch's random_() for int64: u64 mod 2^63
  float uniform_f32();      // the low 24 bits of u32, in [0, 1)
  double uniform_f64();     // the low 53 bits of u64, in [0, 1)

  // Fill contiguous f32 or f64 tensors in memory order; others are an error, as
  // are bounds that are not finite or out of order, and a negative stddev.
  void rand(Tensor& out);  // [0, 1)
  void uniform(Tensor& out, double from, double to);
  void randn(Tensor& out);
  void normal(Tensor& out, double mean, double stddev);
  void bernoulli(Tensor& out, double p);  // 1 with probability p, else 0
  void exponential(Tensor& out, double rate = 1);  // mean 1/rate
  // In place: zero with probability p, else times 1/(1-p). A p of 0 or 1 draws
  // nothing. p in [0, 1].
  void dropout(Tensor& x, double p);

  std::int64_t randint(std::int64_t n);                // in [0, n), n > 0
  std::vector<std::int64_t> randperm(std::int64_t n);  // of 0 … n-1
  bool bernoulli(double p);                            // uniform_f64() < p
  // One draw with probability proportional to weights (argmax of weight / q, q
  // exponential); a weight of 0 is never drawn. Throws when a weight is
  // negative or not finite, or all are zero.
  std::int64_t multinomial(const float* weights, std::int64_t n);

  // Everything the next draws depend on, and back: for exact resume.
  std::vector<std::uint32_t> state() const;
  void set_state(const std::vector<std::uint32_t>& state);

 private:
  double normal_f64();
  void refill();

  std::array<std::uint32_t, 624> mt_;
  std::uint32_t next_ = 624;  // index into mt_
  bool cached_ = false;       // the second of a pair of normals waits
  double cached_value_ = 0;
};

}  // namespace qkv
