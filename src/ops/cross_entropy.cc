// The mean of -log softmax(logits)[target].
#include "kernels/loss/cross_entropy.h"

#include "ops/common.h"
#include "ops/targets.h"

namespace qkv {
namespace {

const Op kCrossEntropy("cross_entropy");

struct Saved {
  Tensor logits, log_sum, targets;
  std::int64_t counted = 0, ignore = kIgnore;
};

template <class T>
kernels::CrossEntropy<T> rows_of_logits(const Tensor& logits,
                                        const Tensor& targets,
                                        std::int64_t ignore) {
  return {logits.data<T>(),
          rows_of(logits),
          logits.dim(-1),
          logits.dim(-1),
          targets.data<std::int64_t>(),
          ignore};
}

template <class T>
void cross_entropy_backward(const Saved& saved, const Tensor& gradient,
                            Gradients& inputs) {
  Tensor dlogits = Tensor::empty(saved.logits.shape(), gradient.dtype());
  const double scale =
      saved.counted > 0 ? gradient.item() / static_cast<double>(saved.counted)
                        : 0;
  kernels::cross_entropy_backward<T>(
      rows_of_logits<T>(saved.logits, saved.targets, saved.ignore),
      saved.log_sum.data<T>(), nullptr, static_cast<T>(scale),
      dlogits.data<T>());
  inputs.add(0, std::move(dlogits));
}

}  // namespace

Loss cross_entropy(const Tensor& logits, const Tensor& targets,
                   std::int64_t ignore) {
  check_compute_type("cross_entropy", logits);
  if (logits.rank() == 0)
    fail_input("[cross_entropy] logits are (…,V), not a scalar");
  const std::int64_t rows = rows_of(logits);
  const Targets checked =
      checked_targets("cross_entropy", targets, rows, logits.dim(-1), ignore);
  const Tensor source = packed(logits);
  Loss loss;
  loss.tokens = checked.counted;
  loss.per_token = Tensor::empty({rows}, logits.dtype());
  Tensor log_sum = Tensor::empty({rows}, logits.dtype());
  with_compute_type(logits.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::cross_entropy<T>(rows_of_logits<T>(source, checked.ids, ignore),
                              loss.per_token.data<T>(), log_sum.data<T>());
    loss.mean = mean_loss<T>(loss.per_token, checked.counted);
    record(kCrossEntropy, loss.mean, {logits},
           Saved{source, log_sum, checked.ids, checked.counted, ignore},
           cross_entropy_backward<T>);
  });
  return loss;
}

}  // namespace qkv
