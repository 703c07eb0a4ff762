// Attention as its formula says it, a row at a time.
#include <cmath>

#include "core/parallel.h"
#include "kernels/attention/attention.h"

namespace qkv::kernels {
namespace {

using std::int64_t;

template <class T>
T dot(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Query i of head h in sequence b, and what it sees.
template <class T>
struct Row {
  const AttentionProblem<T>& problem;
  int64_t b, h, i;
  KeyRange range = problem.mask.keys_of(problem.shape, b, i, i);

  int64_t index() const {
    const AttentionShape& s = problem.shape;
    return (b * s.heads + h) * s.queries + i;
  }
  bool sees(int64_t j) const {
    const AttentionMask<T>& mask = problem.mask;
    if (j < range.begin || j >= range.end) return false;
    if (mask.dense_visible)
      return mask.dense_visible[mask.dense_at(b, h, i, j)];
    if (mask.dense_bias)
      return mask.dense_bias[mask.dense_at(b, h, i, j)] !=
             -std::numeric_limits<T>::infinity();
    return true;
  }
  T score(int64_t j) const {
    const AttentionMask<T>& mask = problem.mask;
    const int64_t width = problem.shape.width;
    T s = dot(problem.q.at(b, h, i), problem.k.at(b, h, j), width) *
          static_cast<T>(problem.scale);
    if (mask.slopes)
      s -= mask.slopes[h] *
           static_cast<T>(std::abs(i + mask.offset(problem.shape, b) - j));
    if (mask.dense_bias) s += mask.dense_bias[mask.dense_at(b, h, i, j)];
    return s;
  }
  // 0, or what the weight of key j is multiplied by.
  T keep(int64_t j) const {
    const AttentionDropout& dropout = problem.dropout;
    if (!dropout.on()) return 1;
    const std::uint32_t block = AttentionDropout::block(problem.shape, b, h, j);
    const auto words = dropout.rng.draw(
        dropout.stream, static_cast<std::uint64_t>(block) << 32 |
                            static_cast<std::uint64_t>(i));
    const std::uint32_t word = words[j % 8 / 2];
    const std::uint32_t bits = j % 2 ? word >> 16 : word & 0xffff;
    return bits < dropout.threshold() ? 0 : static_cast<T>(dropout.scale());
  }
};

template <class T>
void forward_row(const Row<T>& row, const AttentionOutput<T>& output,
                 T* scores) {
  const AttentionShape& s = row.problem.shape;
  const KeyRange range = row.range;
  T* out = output.out.at(row.b, row.h, row.i);
  const int64_t slot = output.weight_slot(row.h);
  T* weights =
      slot < 0 ? nullptr
               : output.weights +
                     ((row.b * output.weight_head_count + slot) * s.queries +
                      row.i) *
                         s.keys;
  std::fill_n(out, s.width, T{0});
  if (weights) std::fill_n(weights, s.keys, T{0});

  bool any = false;
  T max = -std::numeric_limits<T>::infinity();
  for (int64_t j = range.begin; j < range.end; ++j) {
    if (!row.sees(j)) continue;
    any = true;
    scores[j] = row.score(j);
    if (!(scores[j] <= max)) max = scores[j];
  }
  if (!any) {
    output.rows.max[row.index()] = output.rows.inverse_sum[row.index()] = 0;
    return;
  }
  T sum = 0;
  for (int64_t j = range.begin; j < range.end; ++j)
    if (row.sees(j)) sum += scores[j] = std::exp(scores[j] - max);
  const T inverse_sum = 1 / sum;
  output.rows.max[row.index()] = max;
  output.rows.inverse_sum[row.index()] = inverse_sum;
  for (int64_t j = range.begin; j < range.end; ++j) {
    if (!row.sees(j)) continue;
    const T weight = scores[j] * inverse_sum;
    if (weights) weights[j] = weight;
    const T keep = row.keep(j);
    if (keep == 0) continue;
    const T* v = row.problem.v.at(row.b, row.h, j);
    for (int64_t c = 0; c < s.width; ++c) out[c] += weight * keep * v[c];
  }
}

// With a_j the weight, m_j what dropout multiplies it by, g = d loss / d out:
// dv_j += a_j m_j g, and through the softmax d score_j = a_j (m_j g·v_j - D),
// D = Σ_j a_j m_j g·v_j = g·out; score_j = scale·q·k_j + bias.
template <class T>
void backward_row(const Row<T>& row, const AttentionGradients<T>& gradients) {
  const AttentionProblem<T>& p = row.problem;
  const int64_t width = p.shape.width;
  const auto [b, h, i] = std::tuple(row.b, row.h, row.i);
  const T scale = static_cast<T>(p.scale);
  const T* q = p.q.at(b, h, i);
  const T* g = gradients.dout.at(b, h, i);
  const T max = gradients.rows.max[row.index()];
  const T inverse_sum = gradients.rows.inverse_sum[row.index()];
  const T d = dot(g, gradients.out.at(b, h, i), width);
  for (int64_t j = row.range.begin; j < row.range.end; ++j) {
    if (!row.sees(j)) continue;
    const T weight = std::exp(row.score(j) - max) * inverse_sum;
    const T keep = row.keep(j);
    const T dweight = keep == 0 ? 0 : keep * dot(g, p.v.at(b, h, j), width);
    const T dscore = weight * (dweight - d);
    for (int64_t c = 0; c < width; ++c) {
      if (gradients.dv && keep != 0)
        gradients.dv.at(b, h, j)[c] += weight * keep * g[c];
      if (gradients.dq)
        gradients.dq.at(b, h, i)[c] += dscore * scale * p.k.at(b, h, j)[c];
      if (gradients.dk) gradients.dk.at(b, h, j)[c] += dscore * scale * q[c];
    }
  }
}

// One region over the heads of all sequences, in the caller's thread when the
// work is small.
void each_head(const AttentionShape& s,
               FunctionRef<void(int64_t b, int64_t h, int worker)> body) {
  const auto block = [&](int64_t n, int worker) {
    body(n / s.heads, n % s.heads, worker);
  };
  const int64_t count = s.batch * s.heads;
  if (s.rows() * s.keys * s.width < 8192) {
    for (int64_t n = 0; n < count; ++n) block(n, 0);
  } else {
    parallel_for_worker(count, block);
  }
}

template <class T>
void zero(const HeadRows<T>& x, const AttentionShape& s, int64_t b, int64_t h,
          int64_t rows) {
  if (!x) return;
  for (int64_t i = 0; i < rows; ++i) std::fill_n(x.at(b, h, i), s.width, T{0});
}

}  // namespace

template <class T>
int64_t attention_reference_workspace(const AttentionShape& shape) {
  return worker_count() * shape.keys * static_cast<int64_t>(sizeof(T));
}

template <class T>
void attention_reference(const AttentionProblem<T>& problem,
                         const AttentionOutput<T>& output, void* workspace) {
  const AttentionShape& s = problem.shape;
  each_head(s, [&](int64_t b, int64_t h, int worker) {
    T* scores = static_cast<T*>(workspace) + worker * s.keys;
    for (int64_t i = 0; i < s.queries; ++i)
      forward_row(Row<T>{problem, b, h, i}, output, scores);
  });
}

template <class T>
void attention_reference_backward(const AttentionProblem<T>& problem,
                                  const AttentionGradients<T>& gradients) {
  const AttentionShape& s = problem.shape;
  each_head(s, [&](int64_t b, int64_t h, int) {
    zero(gradients.dq, s, b, h, s.queries);
    zero(gradients.dk, s, b, h, s.keys);
    zero(gradients.dv, s, b, h, s.keys);
    for (int64_t i = 0; i < s.queries; ++i)
      backward_row(Row<T>{problem, b, h, i}, gradients);
  });
}

#define QKV_INSTANTIATE(T)                                                  \
  template int64_t attention_reference_workspace<T>(const AttentionShape&); \
  template void attention_reference(const AttentionProblem<T>&,             \
                                    const AttentionOutput<T>&, void*);      \
  template void attention_reference_backward(const AttentionProblem<T>&,    \
                                             const AttentionGradients<T>&);
QKV_INSTANTIATE(float)
QKV_INSTANTIATE(double)
#undef QKV_INSTANTIATE

}  // namespace qkv::kernels
