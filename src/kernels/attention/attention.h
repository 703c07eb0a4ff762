// Attention: A = softmax(scale·Q Kᵀ + bias) over the keys a query may see,
// O = A V, and its backward. Two implementations: the plain one for float and
// double, and a tiled f32 one that never holds the (queries × keys) matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "qkv/rng.h"

namespace qkv::kernels {

struct AttentionShape {
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  std::int64_t width = 0;  // of a head; the values' too

  std::int64_t rows() const { return batch * heads * queries; }
  // Whether the tiled kernel gives whole heads to the workers, in order: in
  // backward then each has near what it wrote in forward.
  bool whole_heads() const {
    constexpr std::int64_t kMany = 64, kFewQueries = 256;
    return batch * heads >= kMany || queries <= kFewQueries;
  }
};

// Rows of `width` adjacent numbers, one for each (batch, head, position): a
// view of separate tensors and of packed projections alike. Strides are in
// elements.
template <class T>
struct HeadRows {
  T* data = nullptr;
  std::int64_t batch = 0, head = 0, row = 0;

  T* at(std::int64_t b, std::int64_t h, std::int64_t r) const {
    return data + b * batch + h * head + r * row;
  }
  explicit operator bool() const { return data != nullptr; }
};

// Positions of keys, [begin, end).
struct KeyRange {
  std::int64_t begin, end;
};

// What a query may see, and what is added to its scores. With
// distance = i + offset - j, key j is hidden from query i when the band is on
// and not 0 <= distance < window, when j >= key_lengths[b], when dense_visible
// is 0 or dense_bias is -infinity. The bias is -slopes[h]·|distance| plus
// dense_bias.
template <class T>
struct AttentionMask {
  static constexpr std::int64_t kUnlimited = std::int64_t{1} << 62;

  bool banded = false;
  std::int64_t window = kUnlimited;             // >= 1
  const std::int64_t* offsets = nullptr;        // (B); none: keys - queries
  const std::int64_t* key_lengths = nullptr;    // (B)
  const T* slopes = nullptr;                    // (H): ALiBi
  const std::uint8_t* dense_visible = nullptr;  // at most one of these two,
  const T* dense_bias = nullptr;                // read by the strides below
  std::int64_t dense_batch = 0, dense_head = 0, dense_row = 0, dense_key = 0;

  bool dense() const { return dense_visible || dense_bias; }
  bool biased() const { return slopes || dense_bias; }

  std::int64_t offset(const AttentionShape& s, std::int64_t b) const {
    return offsets ? offsets[b] : s.keys - s.queries;
  }
  std::int64_t dense_at(std::int64_t b, std::int64_t h, std::int64_t i,
                        std::int64_t j) const {
    return b * dense_batch + h * dense_head + i * dense_row + j * dense_key;
  }
  // The keys that band and length leave to at least one of the queries first …
  // last.
  KeyRange keys_of(const AttentionShape& s, std::int64_t b, std::int64_t first,
                   std::int64_t last) const {
    const std::int64_t length = key_lengths ? key_lengths[b] : s.keys;
    if (!banded) return {0, length};
    const std::int64_t diagonal = offset(s, b);
    const std::int64_t begin =
        std::max<std::int64_t>(first + diagonal + 1 - window, 0);
    const std::int64_t end =
        std::clamp<std::int64_t>(last + diagonal + 1, 0, length);
    return {std::min(begin, end), end};
  }
};

// Weight (b,h,i,j) is zeroed when its 16 bits of Philox are below
// p·65536 (so p is taken to 1/65536), else divided by 1 - p. Block
// i + 2³²·((b·H + h)·⌈S/8⌉ + ⌊j/8⌋) of the stream holds the bits of eight
// keys: two a word, the even key in the lower half. A decision depends on
// nothing else, so backward draws it again.
struct AttentionDropout {
  double p = 0;  // [0, 1)
  StepRng rng;
  std::uint64_t stream = 0;

  std::uint32_t threshold() const {
    return static_cast<std::uint32_t>(std::lround(p * 65536));
  }
  bool on() const { return threshold() > 0; }
  double scale() const { return 65536.0 / (65536.0 - threshold()); }
  // The higher word of the block index.
  static std::uint32_t block(const AttentionShape& s, std::int64_t b,
                             std::int64_t h, std::int64_t j) {
    return static_cast<std::uint32_t>((b * s.heads + h) * ((s.keys + 7) / 8) +
                                      j / 8);
  }
};

template <class T>
struct AttentionProblem {
  AttentionShape shape;
  HeadRows<const T> q, k, v;
  double scale = 1;
  AttentionMask<T> mask;
  AttentionDropout dropout;
};

// What forward keeps for backward, (B,H,T) each: the score from which a row's
// exponentials were taken, its largest or little below (in the implementation's
// own unit), and one over their sum; both 0 for a row that sees nothing.
template <class T>
struct AttentionRows {
  T* max = nullptr;
  T* inverse_sum = nullptr;
};

template <class T>
struct AttentionOutput {
  HeadRows<T> out;
  AttentionRows<T> rows;
  // Before dropout, (B,weight_heads,T,S) contiguous, for the heads named; or
  // none. Wanting them changes no bit of out.
  T* weights = nullptr;
  const std::int64_t* weight_heads = nullptr;
  std::int64_t weight_head_count = 0;

  // Where the weights of head h belong, -1 for nowhere.
  std::int64_t weight_slot(std::int64_t h) const {
    if (!weights) return -1;
    for (std::int64_t i = 0; i < weight_head_count; ++i)
      if (weight_heads[i] == h) return i;
    return -1;
  }
};

template <class T>
struct AttentionGradients {
  HeadRows<const T> out;        // of forward
  AttentionRows<const T> rows;  // of forward
  HeadRows<const T> dout;       // d loss / d out
  HeadRows<T> dq, dk, dv;       // overwritten; each may be without data
};

// The plain implementation. Rows' maxima are in units of the score.
template <class T>
std::int64_t attention_reference_workspace(const AttentionShape& shape);
template <class T>
void attention_reference(const AttentionProblem<T>& problem,
                         const AttentionOutput<T>& output, void* workspace);
template <class T>
void attention_reference_backward(const AttentionProblem<T>& problem,
                                  const AttentionGradients<T>& gradients);

// The tiled one. Rows' maxima are in units of score·log2(e). Workspaces are in
// bytes, aligned to 64. One that sees nothing gets exactly 0; a hidden key or
// value is never multiplied in, whatever it holds.
std::int64_t attention_flash_workspace(const AttentionShape& shape);
void attention_flash(const AttentionProblem<float>& problem,
                     const AttentionOutput<float>& output, void* workspace);
std::int64_t attention_flash_backward_workspace(const AttentionShape& shape);
void attention_flash_backward(const AttentionProblem<float>& problem,
                              const AttentionGradients<float>& gradients,
                              void* workspace);

}  // namespace qkv::kernels
