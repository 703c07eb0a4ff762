#include "models/measured_memory.h"

#include "qkv/autograd.h"
#include "qkv/runtime.h"

namespace qkv {

double measured_activation_bytes(const ModelConfig& config, std::int64_t batch,
                                 std::int64_t length) {
  nn::SkipInit skip;
  const auto model = config.clone()->make();
  double gradients = 0;
  for (nn::NamedTensor& p : model->parameters()) {
    p.tensor.fill(0.01);
    gradients += 4.0 * static_cast<double>(p.tensor.numel());
  }
  const Tensor ids = Tensor::zeros({batch, length}, DType::i64);
  const StepRng rng;
  Context context{.training = true, .rng = &rng};
  const std::int64_t before = runtime::memory().in_use;
  runtime::reset_peak_memory();
  if (const Tensor mean = model->loss(ids, ids, context).mean;
      mean.requires_grad())
    backward(mean);
  return static_cast<double>(runtime::memory().peak - before) - gradients;
}

}  // namespace qkv
