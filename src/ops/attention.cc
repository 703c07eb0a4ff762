// Attention as an operation: checks, choice of the kernel, forward, backward.
// attention(), self_attention() and cross_attention() differ only in where
// queries, keys and values lie.
#include "kernels/attention/attention.h"

#include <array>
#include <cmath>

#include "ops/attention_mask.h"
#include "ops/common.h"
#include "qkv/attention.h"

namespace qkv {
namespace {

const Op kAttention("attention"), kSelfAttention("self_attention"),
    kCrossAttention("cross_attention");

// Where one of q, k, v lies: part `part` of the `parts` that are packed side by
// side in input `input` (B,rows,parts·D); parts = 0: alone, (B,H,rows,d).
struct Place {
  int input, parts, part;
};
// The places of q, k, v in the inputs of an operation; the output is packed
// like one of a single part, or alone.
using Places = std::array<Place, 3>;
constexpr Places kSeparate = {{{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}};
constexpr Places kSelf = {{{0, 3, 0}, {0, 3, 1}, {0, 3, 2}}};
constexpr Places kCross = {{{0, 1, 0}, {1, 2, 0}, {1, 2, 1}}};

// Rows of heads in x, which has the place's shape.
template <class T, class Number>
kernels::HeadRows<T> rows_in(Number* data, const Tensor& x, Place place,
                             std::int64_t width) {
  if (place.parts == 0) return {data, x.stride(0), x.stride(1), x.stride(2)};
  const std::int64_t part = x.dim(2) / place.parts;
  return {data + place.part * part, x.stride(0), width, x.stride(1)};
}
template <class T>
kernels::HeadRows<const T> read_rows(const Tensor& x, Place place,
                                     std::int64_t width) {
  return rows_in<const T>(x.data<T>(), x, place, width);
}
template <class T>
kernels::HeadRows<T> write_rows(Tensor& x, Place place, std::int64_t width) {
  return rows_in<T>(x.data<T>(), x, place, width);
}

// All that forward needs, and backward again.
struct Call {
  kernels::AttentionShape shape;
  Places places{};
  std::array<Tensor, 3> inputs;  // without history, last axis contiguous
  double scale = 1;
  ReadyMask mask;
  kernels::AttentionDropout dropout;
  AttentionKernel kernel = AttentionKernel::reference;
  Tensor rows;    // (2,B,H,T): maxima and inverse sums
  Tensor output;  // without history

  Place output_place() const { return {0, places[0].parts == 0 ? 0 : 1, 0}; }
  template <class T>
  kernels::AttentionProblem<T> problem() const {
    const auto rows_of_part = [&](int i) {
      return read_rows<T>(inputs[places[i].input], places[i], shape.width);
    };
    return {shape, rows_of_part(0), rows_of_part(1), rows_of_part(2),
            scale, mask.view<T>(),  dropout};
  }
};

Tensor workspace(std::int64_t bytes) {
  return Tensor::empty({bytes}, DType::u8);
}

template <class T>
void run_forward(const Call& call, Tensor& output, Tensor& weights,
                 const std::vector<std::int64_t>& weight_heads) {
  kernels::AttentionOutput<T> result;
  result.out = write_rows<T>(output, call.output_place(), call.shape.width);
  Tensor rows = call.rows;
  result.rows = {rows.data<T>(), rows.data<T>() + call.shape.rows()};
  if (weights) {
    result.weights = weights.data<T>();
    result.weight_heads = weight_heads.data();
    result.weight_head_count = static_cast<std::int64_t>(weight_heads.size());
  }
  if constexpr (std::is_same_v<T, float>) {
    if (call.kernel == AttentionKernel::flash) {
      Tensor work = workspace(kernels::attention_flash_workspace(call.shape));
      return kernels::attention_flash(call.problem<T>(), result, work.raw());
    }
  }
  Tensor work =
      workspace(kernels::attention_reference_workspace<T>(call.shape));
  kernels::attention_reference(call.problem<T>(), result, work.raw());
}

template <class T>
void run_backward(const Call& call, const Tensor& dout, Gradients& inputs) {
  std::array<Tensor, 3> gradients;
  for (int i = 0; i < 3; ++i)
    if (call.inputs[i] && inputs.wants(i))
      gradients[i] = Tensor::empty(call.inputs[i].shape(), dout.dtype());
  const auto place = [&](int i) -> kernels::HeadRows<T> {
    Tensor& gradient = gradients[call.places[i].input];
    if (!gradient) return {};
    return write_rows<T>(gradient, call.places[i], call.shape.width);
  };
  const Place out = call.output_place();
  const T* rows = call.rows.data<T>();
  const kernels::AttentionGradients<T> wanted{
      read_rows<T>(call.output, out, call.shape.width),
      {rows, rows + call.shape.rows()},
      read_rows<T>(dout, out, call.shape.width),
      place(0),
      place(1),
      place(2)};
  bool done = false;
  if constexpr (std::is_same_v<T, float>) {
    if (call.kernel == AttentionKernel::flash) {
      Tensor work =
          workspace(kernels::attention_flash_backward_workspace(call.shape));
      kernels::attention_flash_backward(call.problem<T>(), wanted, work.raw());
      done = true;
    }
  }
  if (!done) kernels::attention_reference_backward(call.problem<T>(), wanted);
  for (int i = 0; i < 3; ++i)
    if (gradients[i]) inputs.add(i, std::move(gradients[i]));
}

kernels::AttentionDropout ready_dropout(std::string_view op,
                                        const AttentionOptions& options,
                                        const kernels::AttentionShape& shape) {
  const double p = options.dropout;
  if (!(p >= 0 && p < 1))
    fail_input("[{}] dropout must be at least 0 and below 1, not {}", op, p);
  if (p == 0) return {};
  if (!options.rng)
    fail_input("[{}] dropout {} needs a generator: set options.rng", op, p);
  const kernels::AttentionDropout dropout{p, *options.rng, options.stream};
  if (dropout.threshold() > 65535)
    fail_input("[{}] dropout {} is too near 1: it is taken to 1/65536", op, p);
  if (checked_multiply(checked_multiply(shape.batch, shape.heads),
                       shape.keys / 8 + 1) >= std::int64_t{1} << 32)
    fail_input("[{}] too large for dropout: batch {}, heads {}, keys {}", op,
               shape.batch, shape.heads, shape.keys);
  return dropout;
}

// The one implementation. inputs are those of the caller, with history.
AttentionResult attend(const Op& op, std::array<Tensor, 3> inputs,
                       const Places& places,
                       const kernels::AttentionShape& shape,
                       const Shape& output_shape,
                       const AttentionOptions& options) {
  const DType dtype = inputs[0].dtype();
  Call call;
  call.shape = shape;
  call.places = places;
  for (int i = 0; i < 3; ++i)
    if (inputs[i])
      call.inputs[i] = inputs[i].stride(-1) == 1 || inputs[i].dim(-1) <= 1
                           ? inputs[i].detach()
                           : inputs[i].clone();
  call.scale = options.scale.value_or(
      shape.width > 0 ? 1 / std::sqrt(static_cast<double>(shape.width)) : 1);
  call.mask = ReadyMask(op.name(), options.mask, shape, dtype);
  call.dropout = ready_dropout(op.name(), options, shape);
  call.kernel = choose_attention({shape.batch, shape.heads, shape.queries,
                                  shape.keys, shape.width, dtype},
                                 options)
                    .kernel;
  call.rows =
      Tensor::empty({2, shape.batch, shape.heads, shape.queries}, dtype);
  AttentionResult result;
  result.output = Tensor::empty(output_shape, dtype);
  std::vector<std::int64_t> weight_heads;
  if (options.want_weights.any()) {
    weight_heads = options.want_weights.list(shape.heads);
    result.weights = Tensor::empty(
        {shape.batch, static_cast<std::int64_t>(weight_heads.size()),
         shape.queries, shape.keys},
        dtype);
  }
  with_compute_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    run_forward<T>(call, result.output, result.weights, weight_heads);
    call.output = result.output.detach();
    record(op, result.output, {inputs[0], inputs[1], inputs[2]},
           std::move(call), run_backward<T>);
  });
  if (result.weights)
    record_without_backward(
        op, result.weights, {inputs[0], inputs[1], inputs[2]},
        "the weights that attention returns are for looking; to train through "
        "them compose softmax(matmul)");
  return result;
}

std::int64_t head_width(std::string_view op, std::int64_t width,
                        std::int64_t heads) {
  if (heads < 1 || width % heads != 0)
    fail_input("[{}] a width of {} is not divisible by {} heads", op, width,
               heads);
  return width / heads;
}

}  // namespace

AttentionChoice choose_attention(const AttentionShape& shape,
                                 const AttentionOptions& options) {
  const runtime::Path path =
      options.path == runtime::Path::automatic ? runtime::path() : options.path;
  if (shape.dtype != DType::f32) {
    constexpr std::string_view reason =
        "the flash kernel computes in f32, not f64";
    if (path == runtime::Path::fast) fail_input("[attention] {}", reason);
    return {AttentionKernel::reference, reason};
  }
  if (path == runtime::Path::reference)
    return {AttentionKernel::reference, "the reference path was asked for"};
  return {AttentionKernel::flash, "f32, any mask and any shape"};
}

AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionOptions& options) {
  check_same_type("attention", q, k);
  check_same_type("attention", q, v);
  if (q.rank() != 4 || k.rank() != 4 || k.shape() != v.shape() ||
      q.shape().with(2, 0) != k.shape().with(2, 0))
    fail_input(
        "[attention] queries {}, keys {} and values {} are not (B,H,T,d), "
        "(B,H,S,d) and (B,H,S,d)",
        q.shape().str(), k.shape().str(), v.shape().str());
  return attend(kAttention, {q, k, v}, kSeparate,
                {q.dim(0), q.dim(1), q.dim(2), k.dim(2), q.dim(3)}, q.shape(),
                options);
}

AttentionResult self_attention(const Tensor& qkv, std::int64_t heads,
                               const AttentionOptions& options) {
  check_compute_type("self_attention", qkv);
  if (qkv.rank() != 3 || qkv.dim(2) % 3 != 0)
    fail_input("[self_attention] input {} is not (B,T,3D)", qkv.shape().str());
  const std::int64_t batch = qkv.dim(0), length = qkv.dim(1);
  const std::int64_t width = qkv.dim(2) / 3;
  const std::int64_t per_head = head_width("self_attention", width, heads);
  return attend(kSelfAttention, {qkv, Tensor(), Tensor()}, kSelf,
                {batch, heads, length, length, per_head},
                {batch, length, width}, options);
}

AttentionResult cross_attention(const Tensor& q, const Tensor& kv,
                                std::int64_t heads,
                                const AttentionOptions& options) {
  check_same_type("cross_attention", q, kv);
  if (q.rank() != 3 || kv.rank() != 3 || q.dim(0) != kv.dim(0) ||
      kv.dim(2) != 2 * q.dim(2))
    fail_input(
        "[cross_attention] queries {} and keys with values {} are not (B,T,D) "
        "and (B,S,2D)",
        q.shape().str(), kv.shape().str());
  const std::int64_t width = q.dim(2);
  const std::int64_t per_head = head_width("cross_attention", width, heads);
  return attend(kCrossAttention, {q, kv, Tensor()}, kCross,
                {q.dim(0), heads, q.dim(1), kv.dim(1), per_head},
                {q.dim(0), q.dim(1), width}, options);
}

WantWeights WantWeights::all() {
  WantWeights want;
  want.all_ = true;
  return want;
}

WantWeights WantWeights::heads(std::vector<std::int64_t> heads) {
  WantWeights want;
  want.heads_ = std::move(heads);
  return want;
}

std::vector<std::int64_t> WantWeights::list(std::int64_t count) const {
  std::vector<std::int64_t> heads = heads_;
  if (all_)
    for (std::int64_t h = 0; h < count; ++h) heads.push_back(h);
  for (std::int64_t h : heads)
    if (h < 0 || h >= count)
      fail_input(
          "[attention] weights of head {} are wanted; there are {} heads", h,
          count);
  return heads;
}

}  // namespace qkv
