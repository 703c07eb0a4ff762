// The four attention modules: what goes in, what comes out, who looks where,
// and a gradient.
#include "qkv/attention.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "qkv/autograd.h"
#include "qkv/nn/attention.h"
#include "qkv/nn/block.h"
#include "qkv/ops.h"

using namespace qkv;

namespace {

Tensor random_numbers(const Shape& shape) {
  Tensor x = Tensor::empty(shape);
  nn::default_rng().randn(x);
  return x;
}

void print_shapes(const char* module, const std::string& input,
                  const AttentionResult& result) {
  std::printf("%-29s %-31s -> out %-10s weights %s\n", module, input.c_str(),
              result.output.shape().str().c_str(),
              result.weights.shape().str().c_str());
}

// Row: who looks. Column: who is looked at.
void print_first(const char* title, const Tensor& weights) {
  const std::int64_t queries = weights.dim(1), keys = weights.dim(2);
  std::printf("\n%s\n", title);
  for (std::int64_t i = 0; i < queries; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      const float w = weights.data<float>()[i * keys + j];
      std::printf(" %5.2f", w);
      sum += w;
    }
    std::printf("   sum %.2f\n", sum);
  }
}

// Each head by itself, with its own rows of the packed projection; their
// outputs side by side go through the output projection.
Tensor heads_apart(const nn::MultiHeadSelfAttention& m, const Tensor& x,
                   std::int64_t heads) {
  const std::int64_t batch = x.dim(0), length = x.dim(1), width = x.dim(2);
  const std::int64_t d = width / heads;
  std::vector<Tensor> outputs;
  for (std::int64_t h = 0; h < heads; ++h) {
    const auto project = [&](int part) {  // 0 queries, 1 keys, 2 values
      const std::int64_t row = part * width + h * d;
      return reshape(linear(x, slice(m.qkv.weight, 0, row, row + d),
                            slice(m.qkv.bias, 0, row, row + d)),
                     {batch, 1, length, d});
    };
    outputs.push_back(
        reshape(attention(project(0), project(1), project(2)).output,
                {batch, length, d}));
  }
  return linear(concat(outputs, 2), m.out_proj.weight, m.out_proj.bias);
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i)
    largest = std::max(
        largest, std::abs(double{a.data<float>()[i]} - b.data<float>()[i]));
  return largest;
}

}  // namespace

int main() {
  nn::manual_seed(0);  // the same numbers every time
  const AttentionOptions look{.want_weights = WantWeights::all()};

  const nn::SelfAttention self(32);
  Tensor x = random_numbers({2, 5, 32});
  const AttentionResult seen = self.forward(x, look);
  print_shapes("SelfAttention(32)", "x " + x.shape().str(), seen);

  const nn::MultiHeadSelfAttention multi_head(64, 8);
  const Tensor y = random_numbers({1, 10, 64});
  print_shapes("MultiHeadSelfAttention(64,8)", "x " + y.shape().str(),
               multi_head.forward(y, look));

  const nn::TinyGPTBlock block(128, 4, 256);
  const Tensor z = random_numbers({2, 12, 128});
  print_shapes("TinyGPTBlock(128,4,256)", "x " + z.shape().str(),
               block.forward(z, look));

  // Three positions look at seven of another sequence.
  const nn::CrossAttention cross(32, 4);
  const Tensor q = random_numbers({2, 3, 32});
  const Tensor memory = random_numbers({2, 7, 32});
  print_shapes("CrossAttention(32,4)",
               "x " + q.shape().str() + ", memory " + memory.shape().str(),
               cross.forward(q, memory, look));

  print_first("SelfAttention, first sequence: row looks at column",
              seen.weights);
  const AttentionOptions causal{.mask = Mask::causal(),
                                .want_weights = WantWeights::all()};
  print_first("The same under a causal mask: only itself and what came before",
              self.forward(x, causal).weights);

  x.set_requires_grad();
  backward(mean(self.forward(x, causal).output));
  std::printf("\nd mean(out) / d x has shape %s, d / d query.weight %s\n",
              x.grad().shape().str().c_str(),
              self.query.weight.grad().shape().str().c_str());

  std::printf(
      "\n8 heads of one packed projection, or 8 separate heads side by side: "
      "largest difference %.6f\n",
      largest_difference(multi_head.forward(y).output,
                         heads_apart(multi_head, y, 8)));
}
