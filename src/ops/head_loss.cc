// The head and the loss in one: logits = x Wᵀ + b by chunks of rows. Each chunk
// gives its losses, turns into d logits where it lies, and feeds dx, dW and db
// while it is in cache. The logits of all rows never exist together.
#include "ops/head_loss.h"

#include "kernels/elementwise/reduce.h"
#include "kernels/elementwise/scale.h"
#include "kernels/loss/cross_entropy.h"
#include "ops/common.h"
#include "ops/linear.h"
#include "ops/linear_products.h"
#include "ops/targets.h"

namespace qkv {
namespace {

const Op kHeadLoss("head_loss");

struct Saved {
  Tensor dx, dw, db;  // for a gradient of 1
};

void head_loss_backward(Saved& saved, const Tensor& gradient,
                        Gradients& inputs) {
  const double g = gradient.item();
  const auto give = [&](int i, Tensor& d) {
    if (!inputs.wants(i)) return;
    if (g != 1)
      inputs.add(i, scale(d, g));
    else
      inputs.add(i, inputs.last() ? std::move(d) : d);
  };
  give(0, saved.dx);
  give(1, saved.dw);
  give(2, saved.db);
}

struct Problem {
  Tensor x, weight, bias, targets;  // all contiguous; bias may be undefined
  std::int64_t rows, width, classes, counted, ignore;
};

template <class T>
void run(const Problem& p, Tensor& losses, Saved* gradients) {
  const std::int64_t chunk = std::min(head_loss_chunk(p.classes), p.rows);
  Tensor logits = Tensor::empty({chunk, p.classes}, p.x.dtype());
  Tensor part, work;
  if (gradients && gradients->db) {
    part = Tensor::empty({p.classes}, p.x.dtype());
    work = Tensor::empty({kernels::sum_axis_workspace(1, chunk, p.classes)},
                         p.x.dtype());
  }
  const T* bias = p.bias ? p.bias.data<T>() : nullptr;
  const T scale = p.counted > 0 ? T(1) / static_cast<T>(p.counted) : T(0);
  const LinearProducts<T> products{p.weight.data<T>(), p.width, p.classes};
  for (std::int64_t begin = 0; begin < p.rows; begin += chunk) {
    const std::int64_t rows = std::min(chunk, p.rows - begin);
    const T* x = p.x.data<T>() + begin * p.width;
    products.forward(x, rows, bias, logits.data<T>());
    const kernels::CrossEntropy<T> loss{logits.data<T>(),
                                        rows,
                                        p.classes,
                                        p.classes,
                                        p.targets.data<std::int64_t>() + begin,
                                        p.ignore};
    if (!gradients) {
      kernels::cross_entropy<T>(loss, losses.data<T>() + begin, nullptr);
      continue;
    }
    kernels::cross_entropy_with_gradient<T>(
        loss, scale, losses.data<T>() + begin, logits.data<T>());
    if (gradients->dx)
      products.to_input(logits.data<T>(), rows,
                        gradients->dx.data<T>() + begin * p.width);
    if (gradients->dw)
      products.to_weight(logits.data<T>(), x, rows, gradients->dw.data<T>(),
                         begin == 0 ? T(0) : T(1));
    if (gradients->db) {
      kernels::sum_axis<T>(logits.data<T>(), 1, rows, p.classes, part.data<T>(),
                           work.data<T>());
      kernels::add_scaled<T>(part.data<T>(), T(1), p.classes,
                             gradients->db.data<T>());
    }
  }
}

}  // namespace

// Rows of a chunk: 4 MiB of f32 logits, but enough rows that reading and
// writing dW once a chunk costs little beside the products.
std::int64_t head_loss_chunk(std::int64_t classes) {
  constexpr std::int64_t kLogits = 1 << 20, kLeast = 256;
  return std::max(kLeast, kLogits / std::max<std::int64_t>(classes, 1));
}

Loss head_loss(const Tensor& x, const Tensor& weight, const Tensor& bias,
               const Tensor& targets, std::int64_t ignore) {
  check_linear("head_loss", x, weight, bias);
  const std::int64_t rows = rows_of(x), classes = weight.dim(0);
  const Targets checked =
      checked_targets("head_loss", targets, rows, classes, ignore);
  const Problem problem{packed(x),
                        packed(weight),
                        bias ? packed(bias) : Tensor(),
                        checked.ids,
                        rows,
                        weight.dim(1),
                        classes,
                        checked.counted,
                        ignore};
  Loss loss;
  loss.tokens = checked.counted;
  loss.per_token = Tensor::empty({rows}, x.dtype());
  Saved saved;
  const bool wanted = needs_record({&x, &weight, &bias});
  if (wanted) {
    const auto room_for = [&](const Tensor& t, bool written) {
      if (!t || !needs_record({&t})) return Tensor();
      return written ? Tensor::empty(t.shape(), t.dtype())
                     : Tensor::zeros(t.shape(), t.dtype());
    };
    // The first chunk writes dx and dW, db is added to.
    saved = {room_for(x, rows > 0), room_for(weight, rows > 0),
             room_for(bias, false)};
  }
  with_compute_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (rows > 0) run<T>(problem, loss.per_token, wanted ? &saved : nullptr);
    loss.mean = mean_loss<T>(loss.per_token, checked.counted);
  });
  record(kHeadLoss, loss.mean, {x, weight, bias}, std::move(saved),
         head_loss_backward);
  return loss;
}

}  // namespace qkv
