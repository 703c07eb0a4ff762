// A transformer block inside a program of one's own: its memory, its loop, its
// loss. The block learns to say the largest number it has seen so far.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "qkv/autograd.h"
#include "qkv/nn/block.h"
#include "qkv/ops.h"
#include "qkv/optim.h"

using namespace qkv;

namespace {

constexpr std::int64_t kBatch = 64, kLength = 16, kWidth = 32;

// Parts that are added by name are found by parameters(), to() and load().
struct RunningMaximum : nn::Module {
  RunningMaximum() {
    add_module("in", in);
    add_module("block", block);
    add_module("out", out);
  }
  // x (B,T,1) -> (B,T,1); position i sees 0 … i.
  Tensor forward(const Tensor& x) const {
    const AttentionOptions causal{.mask = Mask::causal()};
    return out.forward(block.forward(in.forward(x), causal).output);
  }

  nn::Linear in{1, kWidth};
  nn::TinyGPTBlock block{kWidth, 4, 2 * kWidth};
  nn::Linear out{kWidth, 1};
};

// An operation of one's own, with its backward: the mean over the elements of
// Huber's loss, e²/2 up to |e| = 1 and |e| − 1/2 beyond (Huber 1964).
Tensor huber(const Tensor& prediction, const Tensor& target) {
  const std::int64_t n = prediction.numel();
  const float* p = prediction.data<float>();
  const float* t = target.data<float>();
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float e = std::abs(p[i] - t[i]);
    sum += e <= 1 ? e * e / 2 : e - 0.5F;
  }
  const double count = static_cast<double>(n);
  return custom_op("huber", Tensor::scalar(sum / count), {prediction},
                   [prediction = prediction.detach(), target,
                    count](const Tensor& grad) -> std::vector<Tensor> {
                     const double outer = grad.item() / count;
                     Tensor d = prediction.clone();
                     for (std::int64_t i = 0; i < d.numel(); ++i) {
                       float& e = d.data<float>()[i];
                       e = std::clamp(e - target.data<float>()[i], -1.F, 1.F) *
                           static_cast<float>(outer);
                     }
                     return {d};
                   });
}

}  // namespace

int main() {
  nn::manual_seed(0);
  RunningMaximum model;
  const auto adamw = optim::adamw(
      optim::parameters_of(model.parameters(), optim::DecayRule::matrices));

  // The program's own memory; the tensors look at it, nothing is copied.
  std::vector<float> numbers(kBatch * kLength), largest(numbers.size());
  const Tensor x =
      Tensor::wrap(numbers.data(), {kBatch, kLength, 1}, DType::f32);
  const Tensor target =
      Tensor::wrap(largest.data(), {kBatch, kLength, 1}, DType::f32);

  TorchRng random(1);
  for (int step = 0; step <= 600; ++step) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = random.uniform_f32();
      largest[i] =
          i % kLength == 0 ? numbers[i] : std::max(largest[i - 1], numbers[i]);
    }
    const Tensor loss = huber(model.forward(x), target);
    if (step % 100 == 0)
      std::printf("step %3d: loss %.6f\n", step, loss.item());
    backward(loss);
    const double norm = optim::grad_norm(adamw->parameters());
    adamw->step(3e-3, optim::clip_scale(norm, 1));
    adamw->zero_grad();
  }

  const NoGrad no_grad;
  const Tensor said = model.forward(x);
  std::printf("number   so far   said\n");
  for (std::int64_t i = 0; i < kLength; ++i)
    std::printf("%6.3f   %6.3f %6.3f\n", numbers[i], largest[i],
                said.data<float>()[i]);
}
