// Attention alone, forward and backward, queries, keys and values in a packed
// projection as a GPT's are.
#include "qkv/attention.h"

#include <fmt/format.h>

#include "cli/bench/bench_case.h"
#include "qkv/autograd.h"
#include "qkv/rng.h"

namespace qkv::cli::bench {
namespace {

struct Size {
  std::int64_t batch, heads, length, width;
  double dropout = 0;
};

Work attention_work(const Size& size, bool backward_too) {
  const Shape packed{size.batch, size.length, 3 * size.heads * size.width};
  Tensor qkv = Tensor::empty(packed);
  Tensor grad =
      Tensor::empty({size.batch, size.length, size.heads * size.width});
  TorchRng rng(1);
  rng.randn(qkv);
  rng.randn(grad);
  if (backward_too) qkv.set_requires_grad(true);
  AttentionOptions options{.mask = Mask::causal()};
  options.dropout = size.dropout;
  options.rng = StepRng{.seed = 1, .step = 1};
  // The pairs that causal attention sees, by the count T²/2; backward is two
  // and a half times the forward.
  const double forward = 2.0 * static_cast<double>(size.batch * size.heads) *
                         static_cast<double>(size.length * size.length) *
                         static_cast<double>(size.width);
  return {.run =
              [=]() mutable {
                qkv.zero_grad();
                const Tensor out =
                    self_attention(qkv, size.heads, options).output;
                if (backward_too) backward_from(out, grad);
              },
          .flops = forward * (backward_too ? 3.5 : 1)};
}

std::vector<BenchCase> attentions() {
  std::vector<BenchCase> cases;
  const auto add = [&](const Size& size) {
    const std::string name = fmt::format(
        "attention-b{}-h{}-t{}-d{}{}", size.batch, size.heads, size.length,
        size.width, size.dropout > 0 ? "-dropout" : "");
    const std::string about = fmt::format(
        "causal attention, B {} H {} T {} d {}{}", size.batch, size.heads,
        size.length, size.width, size.dropout > 0 ? ", dropout 0.2" : "");
    cases.push_back({name, about + ", with backward",
                     [size] { return attention_work(size, true); }});
    cases.push_back({name + "-forward", about,
                     [size] { return attention_work(size, false); }});
  };
  for (const Size& size : std::initializer_list<Size>{{32, 4, 16, 16},
                                                      {12, 4, 64, 32},
                                                      {64, 6, 256, 64},
                                                      {64, 6, 256, 64, 0.2},
                                                      {64, 6, 255, 64},
                                                      {64, 6, 257, 64},
                                                      {1, 25, 1024, 64},
                                                      {4, 12, 1024, 64},
                                                      {4, 12, 1024, 48},
                                                      {4, 12, 1024, 80},
                                                      {1, 2, 4096, 64},
                                                      {1, 1, 8192, 64}})
    add(size);
  return cases;
}

const RegisterBench kAttentions(attentions());

}  // namespace
}  // namespace qkv::cli::bench
