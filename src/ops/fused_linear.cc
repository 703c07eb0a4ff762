#include "ops/fused_linear.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/divide.h"
#include "core/parallel.h"
#include "kernels/cut.h"
#include "kernels/elementwise/dropout.h"
#include "kernels/elementwise/reduce.h"
#include "kernels/elementwise/scale.h"
#include "kernels/gemm/cut_gemm.h"
#include "kernels/norm/layer_norm.h"
#include "ops/common.h"
#include "ops/linear.h"
#include "ops/linear_products.h"

namespace qkv {
namespace {

const Op kNormLinear("norm_linear"), kLinearResidual("linear_residual"),
    kActivationLinearResidual("activation_linear_residual");

// The inputs, in the order of the tape's.
enum Input { kX, kGamma, kBeta, kWeight, kBias, kResidual };

// What is done to a row before the product.
enum class Before { nothing, norm, activation };

// One call: its inputs without history and contiguous, and what forward leaves
// for backward.
struct Call {
  Before before = Before::nothing;
  kernels::Activation activation = kernels::Activation::relu;
  double eps = 0;
  Tensor x, gamma, beta, weight, bias, residual;
  DropoutDraw dropout;
  Tensor mean, rstd;  // (rows), of a norm

  std::int64_t rows() const { return rows_of(x); }
  std::int64_t in() const { return weight.dim(1); }
  std::int64_t out() const { return weight.dim(0); }
};

template <class T>
const T* data_or_null(const Tensor& t) {
  return t ? t.data<T>() : nullptr;
}
template <class T>
T* data_or_null(Tensor& t) {
  return t ? t.data<T>() : nullptr;
}

template <class T>
LinearProducts<T> products_of(const Call& c) {
  return {c.weight.data<T>(), c.in(), c.out()};
}

// Rows are cut for the threads: no bit depends on it, since a row's result does
// not depend on its neighbours, and sums over rows are made of chunks.
constexpr std::int64_t kChunk = kernels::kRowChunk;
struct RowCut {
  std::int64_t rows, size, blocks;

  RowCut(std::int64_t rows, std::int64_t in, std::int64_t out) : rows(rows) {
    // What is read and written of a block's rows stays in a core's cache; each
    // block copies the weight, so it should not be small either.
    constexpr std::int64_t kMostNumbers = 3 << 17;
    const std::int64_t most = std::clamp<std::int64_t>(
        kMostNumbers / std::max<std::int64_t>(in + out, 1), 256, 512);
    const std::int64_t workers =
        kernels::worth_workers(rows, in, out, free_workers());
    const std::int64_t parts =
        round_up(std::max<std::int64_t>(ceil_div(rows, most), 1), workers);
    size = std::max(round_up(ceil_div(rows, parts), kChunk), kChunk);
    blocks = ceil_div(rows, size);
  }

  // body(begin, end, worker).
  template <class Body>
  void run(Body body) const {
    parallel_for_worker(
        blocks,
        [&](std::int64_t block, int worker) {
          body(block * size, std::min((block + 1) * size, rows), worker);
        },
        blocks > 4 * worker_count() ? Schedule::dynamic : Schedule::even);
  }
};

// What the product reads of rows begin … end - 1: x itself, or made in `room`.
// A norm's mean and rstd go to (rows), unless they are null.
template <class T>
const T* before_product(const Call& c, std::int64_t begin, std::int64_t end,
                        T* room, T* mean = nullptr, T* rstd = nullptr) {
  const std::int64_t in = c.in();
  const T* x = c.x.data<T>() + begin * in;
  switch (c.before) {
    case Before::nothing:
      return x;
    case Before::activation:
      kernels::activation<T>(c.activation, x, (end - begin) * in, room);
      return room;
    case Before::norm:
      kernels::layer_norm<T>(x, data_or_null<T>(c.gamma),
                             data_or_null<T>(c.beta), end - begin, in, c.eps,
                             room, mean ? mean + begin : nullptr,
                             rstd ? rstd + begin : nullptr);
      return room;
  }
  return nullptr;
}

template <class T>
void apply_dropout(const Call& c, const T* from, std::int64_t begin,
                   std::int64_t end, T* to) {
  const std::int64_t out = c.out();
  kernels::dropout<T>(from + begin * out, (end - begin) * out, c.dropout.p,
                      c.dropout.rng, c.dropout.stream, begin * out,
                      to + begin * out);
}

template <class T>
void forward(Call& c, Tensor& y) {
  const std::int64_t in = c.in(), out = c.out();
  const RowCut cut(c.rows(), in, out);
  Tensor rooms;
  if (c.before != Before::nothing)
    rooms = Tensor::empty({worker_count(), cut.size, in}, y.dtype());
  T* const to = y.data<T>();
  T* const mean = data_or_null<T>(c.mean);
  T* const rstd = data_or_null<T>(c.rstd);
  cut.run([&](std::int64_t begin, std::int64_t end, int worker) {
    T* room = rooms ? rooms.data<T>() + worker * cut.size * in : nullptr;
    const T* a = before_product<T>(c, begin, end, room, mean, rstd);
    products_of<T>(c).forward(a, end - begin,
                              data_or_null<T>(std::as_const(c.bias)),
                              to + begin * out);
    if (c.dropout.p > 0) apply_dropout<T>(c, to, begin, end, to);
    if (c.residual)
      kernels::add_scaled<T>(c.residual.data<T>() + begin * out, T(1),
                             (end - begin) * out, to + begin * out);
  });
}

// The gradients and the memory that one backward works with; undefined where
// nobody asks for them.
template <class T>
class Backward {
 public:
  Backward(const Call& c, const Tensor& dy, Gradients& inputs)
      : c_(c),
        inputs_(inputs),
        cut_(c.rows(), c.in(), c.out()),
        dz_(dy),
        wants_rows_(inputs.wants(kX) || inputs.wants(kGamma) ||
                    inputs.wants(kBeta)),
        norm_(c.before == Before::norm && wants_rows_) {
    const DType dtype = dy.dtype();
    const std::int64_t rows = c.rows(), in = c.in(), out = c.out();
    if (c.dropout.p > 0) dz_ = Tensor::empty(dy.shape(), dtype);
    if (inputs.wants(kX)) sum_ = inputs.collected(kX);
    if (sum_)
      rooms_ = Tensor::empty({worker_count(), cut_.size, in}, dtype);
    else if (wants_rows_)
      dx_ = Tensor::empty(c.x.shape(), dtype);
    product_input_ = c.x;
    if (c.before != Before::nothing && inputs.wants(kWeight))
      product_input_ = Tensor::empty({rows, in}, dtype);
    if (inputs.wants(kBias))
      bias_parts_ = Tensor::empty({ceil_div(rows, kChunk), out}, dtype);
    if (norm_)
      norm_parts_ = Tensor::empty(
          {kernels::layer_norm_backward_workspace(rows, in)}, dtype);
  }

  void run(const Tensor& dy) {
    const T* from = dy.data<T>();
    cut_.run([&](std::int64_t begin, std::int64_t end, int worker) {
      if (c_.dropout.p > 0)
        apply_dropout<T>(c_, from, begin, end, dz_.data<T>());
      if (bias_parts_) sum_columns(begin, end);
      // Of an activation, rows_backward makes both at once.
      const bool both = c_.before == Before::activation && wants_rows_;
      if (inputs_.wants(kWeight) && !both)
        before_product<T>(c_, begin, end,
                          product_input_.data<T>() + begin * c_.in());
      if (wants_rows_) rows_backward(begin, end, worker);
    });
    if (sum_)
      inputs_.added(kX);
    else if (inputs_.wants(kX))
      inputs_.add(kX, std::move(dx_));
    if (norm_) give_norm();
    if (inputs_.wants(kWeight)) give_weight();
    if (bias_parts_) give_bias();
    if (inputs_.wants(kResidual)) inputs_.add(kResidual, dy);
  }

 private:
  // dx of some rows, or its addition to what x has collected.
  void rows_backward(std::int64_t begin, std::int64_t end, int worker) {
    const std::int64_t in = c_.in(), out = c_.out(), count = end - begin;
    T* d = sum_ ? rooms_.data<T>() + worker * cut_.size * in
                : dx_.data<T>() + begin * in;
    products_of<T>(c_).to_input(dz_.data<T>() + begin * out, count, d);
    const T* x = c_.x.data<T>() + begin * in;
    if (c_.before == Before::activation)
      kernels::activation_backward<T>(
          c_.activation, x, d, count * in, d,
          inputs_.wants(kWeight) ? product_input_.data<T>() + begin * in
                                 : nullptr);
    if (norm_)
      kernels::layer_norm_backward_rows<T>(
          {x, data_or_null<T>(c_.gamma), c_.mean.data<T>() + begin,
           c_.rstd.data<T>() + begin, d, count, in, d,
           norm_parts_.data<T>() + begin / kChunk * 2 * in},
          0, count);
    if (sum_)
      kernels::add_scaled<T>(d, T(1), count * in, sum_.data<T>() + begin * in);
  }

  // The sums of dz over the chunks of some rows.
  void sum_columns(std::int64_t begin, std::int64_t end) {
    const std::int64_t out = c_.out(), whole = (end - begin) / kChunk;
    const T* from = dz_.data<T>() + begin * out;
    T* to = bias_parts_.data<T>() + begin / kChunk * out;
    kernels::sum_axis<T>(from, whole, kChunk, out, to, nullptr);
    const std::int64_t rest = end - begin - whole * kChunk;
    if (rest > 0)
      kernels::sum_axis<T>(from + whole * kChunk * out, 1, rest, out,
                           to + whole * out, nullptr);
  }

  void give_norm() {
    const std::int64_t in = c_.in();
    Tensor dgamma, dbeta;
    if (inputs_.wants(kGamma)) dgamma = Tensor::empty({in}, dz_.dtype());
    if (inputs_.wants(kBeta)) dbeta = Tensor::empty({in}, dz_.dtype());
    kernels::layer_norm_backward_sums<T>(norm_parts_.data<T>(), c_.rows(), in,
                                         data_or_null<T>(dgamma),
                                         data_or_null<T>(dbeta));
    if (dgamma) inputs_.add(kGamma, std::move(dgamma));
    if (dbeta) inputs_.add(kBeta, std::move(dbeta));
  }

  void give_weight() {
    Tensor dw = Tensor::empty(c_.weight.shape(), dz_.dtype());
    products_of<T>(c_).to_weight(dz_.data<T>(), product_input_.data<T>(),
                                 c_.rows(), dw.data<T>());
    inputs_.add(kWeight, std::move(dw));
  }

  void give_bias() {
    const std::int64_t chunks = bias_parts_.dim(0), out = c_.out();
    Tensor db = Tensor::empty({out}, dz_.dtype());
    Tensor work = Tensor::empty({kernels::sum_axis_workspace(1, chunks, out)},
                                dz_.dtype());
    kernels::sum_axis<T>(bias_parts_.data<T>(), 1, chunks, out, db.data<T>(),
                         work.data<T>());
    inputs_.add(kBias, std::move(db));
  }

  const Call& c_;
  Gradients& inputs_;
  RowCut cut_;
  Tensor dz_;  // of the product: dy, its dropout drawn again
  bool wants_rows_, norm_;
  Tensor sum_;            // what x has collected, to add to, through
  Tensor rooms_;          // (workers, rows of a block, in);
  Tensor dx_;             // or a gradient of its own
  Tensor product_input_;  // (rows,in)
  Tensor bias_parts_, norm_parts_;
};

void check(std::string_view op, const Call& c) {
  check_linear(op, c.x, c.weight, c.bias);
  const auto check = [&](const char* what, const Tensor& t,
                         const Shape& shape) {
    if (!t) return;
    check_same_type(op, c.x, t);
    if (t.shape() != shape)
      fail_input("[{}] {} {} does not fit input {} and weight {}", op, what,
                 t.shape().str(), c.x.shape().str(), c.weight.shape().str());
  };
  check("norm weight", c.gamma, {c.in()});
  check("norm bias", c.beta, {c.in()});
  check("residual", c.residual, c.x.shape().with(-1, c.out()));
  if (!(c.dropout.p >= 0 && c.dropout.p < 1))
    fail_input("[{}] dropout must be at least 0 and below 1, not {}", op,
               c.dropout.p);
}

Tensor run(const Op& op, Call c) {
  check(op.name(), c);
  const std::array<Tensor, 6> inputs{c.x,      c.gamma, c.beta,
                                     c.weight, c.bias,  c.residual};
  for (Tensor* t : {&c.x, &c.gamma, &c.beta, &c.weight, &c.bias, &c.residual})
    if (*t) *t = packed(*t);
  Tensor y = Tensor::empty(c.x.shape().with(-1, c.out()), c.x.dtype());
  if (c.before == Before::norm) {
    c.mean = Tensor::empty({c.rows()}, c.x.dtype());
    c.rstd = Tensor::empty({c.rows()}, c.x.dtype());
  }
  with_compute_type(c.x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    forward<T>(c, y);
    c.residual = Tensor();  // backward does not read it
    record(op, y, std::span<const Tensor>(inputs), std::move(c),
           [](const Call& saved, const Tensor& dy, Gradients& gradients) {
             Backward<T>(saved, dy, gradients).run(dy);
           });
  });
  return y;
}

Call call_of(Before before, const Tensor& x, const LinearWeights& linear) {
  Call c;
  c.before = before;
  c.x = x;
  c.weight = linear.weight;
  c.bias = linear.bias;
  return c;
}

Tensor run_residual(const Op& op, Call c, const DropoutDraw& dropout,
                    const Tensor& residual) {
  if (!residual) fail_input("[{}] the residual is undefined", op.name());
  c.dropout = dropout;
  c.residual = residual;
  return run(op, std::move(c));
}

}  // namespace

Tensor norm_linear(const Tensor& x, const NormWeights& norm,
                   const LinearWeights& linear) {
  Call c = call_of(Before::norm, x, linear);
  c.eps = norm.eps;
  c.gamma = norm.weight;
  c.beta = norm.bias;
  return run(kNormLinear, std::move(c));
}

Tensor linear_residual(const Tensor& x, const LinearWeights& linear,
                       const DropoutDraw& dropout, const Tensor& residual) {
  return run_residual(kLinearResidual, call_of(Before::nothing, x, linear),
                      dropout, residual);
}

Tensor activation_linear_residual(kernels::Activation f, const Tensor& x,
                                  const LinearWeights& linear,
                                  const DropoutDraw& dropout,
                                  const Tensor& residual) {
  if (kernels::saves_output(f))
    fail_internal(
        "[activation_linear_residual] this function's backward reads "
        "its output, which is not kept");
  Call c = call_of(Before::activation, x, linear);
  c.activation = f;
  return run_residual(kActivationLinearResidual, std::move(c), dropout,
                      residual);
}

}  // namespace qkv
