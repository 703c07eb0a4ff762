// Scaled dot-product attention, the one operation under every attention module:
//   A = softmax(Q Kᵀ · scale + mask) over the keys,  O = A V
// (Vaswani et al. 2017). Functions throw Error (input), naming operation and
// shapes, where these, the mask or the options do not fit.
// B batch, H heads, T queries, S keys, D model width, d = D/H head width.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "qkv/dtype.h"
#include "qkv/export.h"
#include "qkv/rng.h"
#include "qkv/runtime.h"
#include "qkv/tensor.h"

namespace qkv {

// Which keys a query may see, and what is added to its scores. One of none,
// causal and window; to any of these may be added key lengths, ALiBi and one
// dense mask:
//   Mask::causal().with_key_lengths(lengths).with_alibi()
// A row that sees nothing is exactly 0 in output, weights and gradients. What a
// hidden key or value holds, be it NaN, never reaches the output.
class QKV_API Mask {
 public:
  static Mask none() { return Mask(); }
  // Key j is visible to query i iff j <= i + S - T: aligned at the last query
  // and the last key, whatever T and S are.
  static Mask causal();
  // Iff 0 <= i + S - T - j < n: itself and the n - 1 keys before.
  static Mask window(std::int64_t n);

  // lengths (B) integers in [0,S]: keys at and beyond a sequence's length are
  // hidden. causal, window and ALiBi still align at the padded S.
  Mask with_key_lengths(const Tensor& lengths) const;
  // offsets (B) integers: the key that stands where query 0 does, in the place
  // of S - T. For sequences that are aligned each in its own way.
  Mask with_offsets(const Tensor& offsets) const;
  // Adds -slope_h·|i + S - T - j| to the scores, slope_h = 2^(-8h/H), h from 1;
  // where H is no power of two, the published rule (Press et al. 2022): the
  // slopes of the power of two below, then every other one of twice that.
  Mask with_alibi() const;
  // Broadcast to (B,H,T,S). Boolean: true may attend. Floating: added to the
  // scores, -infinity hides. No gradient flows to it: one that requires a
  // gradient is an error.
  Mask with_dense(const Tensor& mask) const;

  bool banded() const { return window_.has_value(); }
  // Of causal, larger than any distance. Only where banded.
  std::int64_t window() const { return *window_; }
  const Tensor& key_lengths() const { return key_lengths_; }
  const Tensor& offsets() const { return offsets_; }
  bool alibi() const { return alibi_; }
  const Tensor& dense() const { return dense_; }

 private:
  std::optional<std::int64_t> window_;
  Tensor key_lengths_, offsets_, dense_;
  bool alibi_ = false;
};

// Whose weights to return. The default is nobody's.
class QKV_API WantWeights {
 public:
  WantWeights() = default;
  static WantWeights none() { return WantWeights(); }
  static WantWeights all();
  static WantWeights heads(std::vector<std::int64_t> heads);

  bool any() const { return all_ || !heads_.empty(); }
  // Of an operation with `count` heads; throws on one that it has not.
  std::vector<std::int64_t> list(std::int64_t count) const;

 private:
  bool all_ = false;
  std::vector<std::int64_t> heads_;
};

struct AttentionOptions {
  Mask mask = {};
  std::optional<double> scale = {};  // default 1/√d
  // Weights are zeroed with this probability, [0, 1), the others divided by
  // 1 - dropout; taken to 1/65536. Decided by (rng, stream, b, h, i, j) alone.
  double dropout = 0;
  std::optional<StepRng> rng = {};  // needed when dropout is not 0
  std::uint64_t stream = 0;
  // Asking for weights changes no bit of the output.
  WantWeights want_weights = {};
  // automatic: as runtime::path() says.
  runtime::Path path = runtime::Path::automatic;
};

struct AttentionResult {
  Tensor output;
  // The softmax before dropout, (B, heads wanted, T, S); undefined when none
  // are. No gradient flows through it: asking for one throws.
  Tensor weights;
};

// q (B,H,T,d), k and v (B,H,S,d), f32 or f64, any strides -> (B,H,T,d).
QKV_API AttentionResult attention(const Tensor& q, const Tensor& k,
                                  const Tensor& v,
                                  const AttentionOptions& options = {});
// qkv (B,T,3D), read as (B,T,3,H,d) in place -> (B,T,D).
QKV_API AttentionResult self_attention(const Tensor& qkv, std::int64_t heads,
                                       const AttentionOptions& options = {});
// q (B,T,D), kv (B,S,2D), read as (B,S,2,H,d) in place -> (B,T,D).
QKV_API AttentionResult cross_attention(const Tensor& q, const Tensor& kv,
                                        std::int64_t heads,
                                        const AttentionOptions& options = {});

struct AttentionShape {
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0, width = 0;
  DType dtype = DType::f32;
};
// reference: the formula, row by row. flash: tiles with a running softmax, f32;
// its memory grows with T, not T·S.
enum class AttentionKernel { reference, flash };
struct AttentionChoice {
  AttentionKernel kernel;
  std::string_view reason;  // of static text: choosing allocates nothing
};
// What a call would run, and why. Path::fast where there is no fast kernel
// throws the reason.
QKV_API AttentionChoice choose_attention(const AttentionShape& shape,
                                         const AttentionOptions& options = {});

}  // namespace qkv
