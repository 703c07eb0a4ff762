// Attention problems for the kernel tests: arrays before guard pages, in
// separate tensors or packed as a projection writes them, and every kind of
// mask.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/attention/attention.h"

namespace qkv::kernels {

// n elements that end where an unreadable page begins; NaN until set.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::int64_t n);
  ~Guarded();
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  T* data() const { return data_; }

 private:
  void* pages_;
  std::size_t bytes_;
  T* data_;
};

enum class MaskKind {
  none,
  causal,
  window1,
  window5,
  window100,
  lengths,  // one of them 0 where there are two sequences
  causal_lengths,
  offsets,  // causal, each sequence aligned in its own way
  alibi,
  causal_alibi,
  dense_bool,  // with a row that sees nothing
  dense_bias,  // with -infinity, a whole row of it too
  causal_dense,
  everything,  // window, lengths, ALiBi and a dense bias
};
inline constexpr MaskKind kAllMasks[] = {
    MaskKind::none,           MaskKind::causal,     MaskKind::window1,
    MaskKind::window5,        MaskKind::window100,  MaskKind::lengths,
    MaskKind::causal_lengths, MaskKind::offsets,    MaskKind::alibi,
    MaskKind::causal_alibi,   MaskKind::dense_bool, MaskKind::dense_bias,
    MaskKind::causal_dense,   MaskKind::everything};
std::string name_of(MaskKind kind);

enum class Layout {
  heads,   // (B,H,T,d), rows with gaps of NaN
  packed,  // (B,T,3,H,d), or (B,T,H,d) and (B,S,2,H,d) where T is not S
};

struct AttentionCase {
  AttentionShape shape;
  MaskKind mask = MaskKind::none;
  Layout layout = Layout::packed;
  double dropout = 0;
  std::int64_t weight_heads = 0;  // the last so many heads

  std::string str() const;
};

// A case with its numbers: the same for float and double. Every array is
// poisoned before it is set, outputs until they are computed.
template <class T>
class AttentionArrays {
 public:
  explicit AttentionArrays(const AttentionCase& c);

  AttentionProblem<T> problem;
  AttentionOutput<T> output;
  AttentionGradients<T> gradients;

  void run_reference();
  void run_flash();  // T = float

  // Rows in order (b, h, row, c).
  std::vector<T> rows(const HeadRows<T>& x, std::int64_t length) const;
  std::vector<T> rows(const HeadRows<const T>& x, std::int64_t length) const;
  std::vector<T> out() const { return rows(output.out, shape().queries); }
  std::vector<T> dq() const { return rows(gradients.dq, shape().queries); }
  std::vector<T> dk() const { return rows(gradients.dk, shape().keys); }
  std::vector<T> dv() const { return rows(gradients.dv, shape().keys); }
  std::vector<T> weights() const;
  T* mutable_row(const HeadRows<const T>& x, std::int64_t b, std::int64_t h,
                 std::int64_t row) {
    return const_cast<T*>(x.at(b, h, row));
  }
  const AttentionShape& shape() const { return problem.shape; }

 private:
  T* take(std::int64_t n);
  HeadRows<T> make_rows(std::int64_t length, std::int64_t parts, int part);
  void set_mask(MaskKind kind);
  void fill(const HeadRows<const T>& x, std::int64_t length,
            std::uint64_t stream);

  AttentionCase case_;
  std::vector<std::unique_ptr<Guarded<T>>> arrays_;
  std::vector<std::int64_t> lengths_, offsets_, weight_heads_;
  std::unique_ptr<Guarded<std::uint8_t>> dense_visible_;
  T* last_packed_ = nullptr;
};

// Whether query i of head h in sequence b sees key j, told from the case alone.
bool sees(const AttentionCase& c, std::int64_t b, std::int64_t h,
          std::int64_t i, std::int64_t j);
// What its score gets added.
double bias_of(const AttentionCase& c, std::int64_t b, std::int64_t h,
               std::int64_t i, std::int64_t j);
// 0, or 1/(1-p).
double keep_of(const AttentionCase& c, std::int64_t b, std::int64_t h,
               std::int64_t i, std::int64_t j);

}  // namespace qkv::kernels
