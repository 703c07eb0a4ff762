#include "tests/kernels/attention_cases.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace qkv::kernels {

using std::int64_t;

template <class T>
Guarded<T>::Guarded(int64_t n) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t size = static_cast<std::size_t>(n) * sizeof(T);
  const std::size_t used = (size + page - 1) / page * page;
  bytes_ = used + page;
  pages_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages_ == MAP_FAILED) std::abort();
  mprotect(static_cast<char*>(pages_) + used, page, PROT_NONE);
  std::memset(pages_, 0xff, used);
  data_ = reinterpret_cast<T*>(static_cast<char*>(pages_) + used - size);
}
template <class T>
Guarded<T>::~Guarded() {
  munmap(pages_, bytes_);
}
template class Guarded<float>;
template class Guarded<double>;
template class Guarded<std::uint8_t>;

std::string name_of(MaskKind kind) {
  static const char* const names[] = {
      "none",         "causal",       "window1",        "window5",
      "window100",    "lengths",      "causal_lengths", "offsets",
      "alibi",        "causal_alibi", "dense_bool",     "dense_bias",
      "causal_dense", "everything"};
  return names[static_cast<int>(kind)];
}

std::string AttentionCase::str() const {
  const auto n = [](int64_t x) { return std::to_string(x); };
  return "B" + n(shape.batch) + " H" + n(shape.heads) + " T" +
         n(shape.queries) + " S" + n(shape.keys) + " d" + n(shape.width) + " " +
         name_of(mask) + (layout == Layout::packed ? " packed" : " heads") +
         (dropout > 0 ? " dropout" : "") + (weight_heads > 0 ? " weights" : "");
}

namespace {

// Numbers that depend on their place alone.
double uniform(std::uint64_t stream, int64_t b, int64_t h, int64_t i,
               int64_t j) {
  const StepRng rng{.seed = 11, .step = stream};
  return rng.uniform(static_cast<std::uint64_t>(b * 64 + h),
                     static_cast<std::uint64_t>(i * 4096 + j));
}

int64_t window_of(MaskKind kind) {
  switch (kind) {
    case MaskKind::window1:
      return 1;
    case MaskKind::window5:
      return 5;
    case MaskKind::window100:
      return 100;
    case MaskKind::everything:
      return 40;
    case MaskKind::causal:
    case MaskKind::causal_lengths:
    case MaskKind::offsets:
    case MaskKind::causal_alibi:
    case MaskKind::causal_dense:
      return AttentionMask<float>::kUnlimited;
    default:
      return 0;  // no band
  }
}
bool has_lengths(MaskKind kind) {
  return kind == MaskKind::lengths || kind == MaskKind::causal_lengths ||
         kind == MaskKind::everything;
}
int64_t length_of(const AttentionCase& c, int64_t b) {
  if (!has_lengths(c.mask)) return c.shape.keys;
  if (b == 1) return 0;
  return c.shape.keys - c.shape.keys / 3;
}
int64_t offset_of(const AttentionCase& c, int64_t b) {
  if (c.mask != MaskKind::offsets) return c.shape.keys - c.shape.queries;
  return b == 0 ? c.shape.keys / 2 : -c.shape.queries / 2;
}
bool has_slopes(MaskKind kind) {
  return kind == MaskKind::alibi || kind == MaskKind::causal_alibi ||
         kind == MaskKind::everything;
}
double slope_of(int64_t h) { return 0.25 / static_cast<double>(h + 1); }
bool has_dense_bool(MaskKind kind) {
  return kind == MaskKind::dense_bool || kind == MaskKind::causal_dense;
}
bool has_dense_bias(MaskKind kind) {
  return kind == MaskKind::dense_bias || kind == MaskKind::everything;
}
// One mask for all heads.
bool dense_hides(int64_t b, int64_t i, int64_t j) {
  return i % 7 == 2 || uniform(21, b, 0, i, j) < 0.3;
}
double dense_bias(int64_t b, int64_t i, int64_t j) {
  return static_cast<float>(2 * uniform(22, b, 0, i, j) - 1);
}

const StepRng kRng{.seed = 0x123456789abcdef, .step = 5};
constexpr std::uint64_t kStream = 0xfedcba9876543210;

}  // namespace

bool sees(const AttentionCase& c, int64_t b, int64_t h, int64_t i, int64_t j) {
  (void)h;
  if (j >= length_of(c, b)) return false;
  if (const int64_t window = window_of(c.mask)) {
    const int64_t distance = i + offset_of(c, b) - j;
    if (distance < 0 || distance >= window) return false;
  }
  if (has_dense_bool(c.mask) || has_dense_bias(c.mask))
    return !dense_hides(b, i, j);
  return true;
}

double bias_of(const AttentionCase& c, int64_t b, int64_t h, int64_t i,
               int64_t j) {
  double bias = 0;
  if (has_slopes(c.mask))
    bias -=
        slope_of(h) * std::abs(static_cast<double>(i + offset_of(c, b) - j));
  if (has_dense_bias(c.mask)) bias += dense_bias(b, i, j);
  return bias;
}

double keep_of(const AttentionCase& c, int64_t b, int64_t h, int64_t i,
               int64_t j) {
  if (c.dropout == 0) return 1;
  const std::uint64_t groups = (c.shape.keys + 7) / 8;
  const std::uint64_t high = (b * c.shape.heads + h) * groups + j / 8;
  const auto words = kRng.draw(kStream, high * 4294967296 + i);
  const std::uint32_t word = words[(j % 8) / 2];
  const std::uint32_t bits = j % 2 == 0 ? word % 65536 : word / 65536;
  const double threshold = std::round(c.dropout * 65536);
  return bits < threshold ? 0 : 1 / (1 - threshold / 65536);
}

template <class T>
T* AttentionArrays<T>::take(int64_t n) {
  arrays_.push_back(std::make_unique<Guarded<T>>(n));
  return arrays_.back()->data();
}

// Part `part` of `parts` packed side by side; the first part makes the array.
template <class T>
HeadRows<T> AttentionArrays<T>::make_rows(int64_t length, int64_t parts,
                                          int part) {
  const AttentionShape& s = shape();
  if (case_.layout == Layout::heads) {
    const int64_t gap = s.width + 3;
    T* data = take(std::max<int64_t>(s.batch * s.heads * length * gap - 3, 0));
    return {data, s.heads * length * gap, length * gap, gap};
  }
  const int64_t row = parts * s.heads * s.width;
  if (part == 0) last_packed_ = take(s.batch * length * row);
  return {last_packed_ + part * s.heads * s.width, length * row, s.width, row};
}

template <class T>
void AttentionArrays<T>::fill(const HeadRows<const T>& x, int64_t length,
                              std::uint64_t stream) {
  for (int64_t b = 0; b < shape().batch; ++b)
    for (int64_t h = 0; h < shape().heads; ++h)
      for (int64_t i = 0; i < length; ++i)
        for (int64_t c = 0; c < shape().width; ++c)
          mutable_row(x, b, h, i)[c] =
              static_cast<float>(4 * uniform(stream, b, h, i, c) - 2);
}

template <class T>
HeadRows<const T> read_only(const HeadRows<T>& x) {
  return {x.data, x.batch, x.head, x.row};
}

template <class T>
AttentionArrays<T>::AttentionArrays(const AttentionCase& c) : case_(c) {
  const AttentionShape& s = problem.shape = c.shape;
  const bool self = s.queries == s.keys;
  const int64_t q_parts = self ? 3 : 1, kv_parts = self ? 3 : 2;
  const int k_part = self ? 1 : 0;
  problem.q = read_only(make_rows(s.queries, q_parts, 0));
  problem.k = read_only(make_rows(s.keys, kv_parts, k_part));
  problem.v = read_only(make_rows(s.keys, kv_parts, k_part + 1));
  output.out = make_rows(s.queries, 1, 0);
  gradients.out = read_only(output.out);
  gradients.dout = read_only(make_rows(s.queries, 1, 0));
  gradients.dq = make_rows(s.queries, q_parts, 0);
  gradients.dk = make_rows(s.keys, kv_parts, k_part);
  gradients.dv = make_rows(s.keys, kv_parts, k_part + 1);
  fill(problem.q, s.queries, 1);
  fill(problem.k, s.keys, 2);
  fill(problem.v, s.keys, 3);
  fill(gradients.dout, s.queries, 4);
  output.rows = {take(s.rows()), take(s.rows())};
  gradients.rows = {output.rows.max, output.rows.inverse_sum};
  problem.scale = s.width ? 1 / std::sqrt(static_cast<double>(s.width)) : 1;
  problem.dropout = {.p = c.dropout, .rng = kRng, .stream = kStream};
  set_mask(c.mask);
  if (c.weight_heads > 0) {
    for (int64_t h = s.heads - c.weight_heads; h < s.heads; ++h)
      weight_heads_.push_back(h);
    output.weights = take(s.batch * c.weight_heads * s.queries * s.keys);
    output.weight_heads = weight_heads_.data();
    output.weight_head_count = c.weight_heads;
  }
}

template <class T>
void AttentionArrays<T>::set_mask(MaskKind kind) {
  const AttentionShape& s = shape();
  AttentionMask<T>& mask = problem.mask;
  if (window_of(kind) > 0) {
    mask.banded = true;
    mask.window = window_of(kind);
  }
  if (has_lengths(kind)) {
    for (int64_t b = 0; b < s.batch; ++b)
      lengths_.push_back(length_of(case_, b));
    mask.key_lengths = lengths_.data();
  }
  if (kind == MaskKind::offsets) {
    for (int64_t b = 0; b < s.batch; ++b)
      offsets_.push_back(offset_of(case_, b));
    mask.offsets = offsets_.data();
  }
  if (has_slopes(kind)) {
    T* slopes = take(s.heads);
    for (int64_t h = 0; h < s.heads; ++h)
      slopes[h] = static_cast<T>(slope_of(h));
    mask.slopes = slopes;
  }
  if (!has_dense_bool(kind) && !has_dense_bias(kind)) return;
  // (B,1,T,S) for the boolean one, (B,1,S,T) read crosswise for the bias.
  const int64_t n = s.batch * s.queries * s.keys;
  mask.dense_batch = s.queries * s.keys;
  if (has_dense_bool(kind)) {
    mask.dense_row = s.keys;
    mask.dense_key = 1;
    dense_visible_ = std::make_unique<Guarded<std::uint8_t>>(n);
    mask.dense_visible = dense_visible_->data();
  } else {
    mask.dense_row = 1;
    mask.dense_key = s.queries;
    mask.dense_bias = take(n);
  }
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t i = 0; i < s.queries; ++i)
      for (int64_t j = 0; j < s.keys; ++j) {
        const int64_t at = mask.dense_at(b, 0, i, j);
        const bool hidden = dense_hides(b, i, j);
        if (mask.dense_visible)
          dense_visible_->data()[at] = !hidden;
        else
          const_cast<T*>(mask.dense_bias)[at] =
              hidden ? -std::numeric_limits<T>::infinity()
                     : static_cast<T>(dense_bias(b, i, j));
      }
}

template <class T>
std::vector<T> AttentionArrays<T>::rows(const HeadRows<const T>& x,
                                        int64_t length) const {
  std::vector<T> all;
  for (int64_t b = 0; b < shape().batch; ++b)
    for (int64_t h = 0; h < shape().heads; ++h)
      for (int64_t i = 0; i < length; ++i)
        all.insert(all.end(), x.at(b, h, i), x.at(b, h, i) + shape().width);
  return all;
}
template <class T>
std::vector<T> AttentionArrays<T>::rows(const HeadRows<T>& x,
                                        int64_t length) const {
  return rows(read_only(x), length);
}

template <class T>
std::vector<T> AttentionArrays<T>::weights() const {
  const int64_t n =
      shape().batch * output.weight_head_count * shape().queries * shape().keys;
  return std::vector<T>(output.weights, output.weights + n);
}

template <class T>
void AttentionArrays<T>::run_reference() {
  const int64_t bytes = attention_reference_workspace<T>(shape());
  const Guarded<T> workspace(bytes / static_cast<int64_t>(sizeof(T)));
  attention_reference(problem, output, workspace.data());
  attention_reference_backward(problem, gradients);
}

template <class T>
void AttentionArrays<T>::run_flash() {
  if constexpr (std::is_same_v<T, float>) {
    // Guarded sizes are whole cache lines, so the start is aligned as well.
    const auto floats = [](int64_t bytes) { return (bytes + 63) / 64 * 16; };
    const Guarded<float> forward(floats(attention_flash_workspace(shape())));
    attention_flash(problem, output, forward.data());
    const Guarded<float> backward(
        floats(attention_flash_backward_workspace(shape())));
    attention_flash_backward(problem, gradients, backward.data());
  }
}

template class AttentionArrays<float>;
template class AttentionArrays<double>;

}  // namespace qkv::kernels
