// What crosses the library's border: tensors and gradients, an exception that
// is caught by its type, a class of one's own that the library calls, and
// generation. Prints one line each.
#include <qkv/qkv.h>

#include <cstdio>

#if QKV_VERSION_MAJOR == 0 && QKV_VERSION_MINOR < 1
#error "an older qkv than this was written for"
#endif

namespace {

// Counts the layers whose attention output passes.
struct CountLayers : qkv::Tap {
  bool wants(qkv::Site site) const override { return site.name == "attn.out"; }
  qkv::Tensor at(qkv::Site, qkv::Tensor value) override {
    ++layers;
    return value;
  }
  int layers = 0;
};

}  // namespace

int main() {
  std::printf("qkv %s\n", qkv::kVersion);
  qkv::nn::manual_seed(0);

  const qkv::nn::MultiHeadSelfAttention attention(64, 8);
  qkv::Tensor x = qkv::Tensor::full({1, 10, 64}, 0.5);
  x.set_requires_grad();
  qkv::backward(qkv::sum(attention.forward(x).output));
  std::printf("gradient %s\n", x.grad().shape().str().c_str());

  try {
    const qkv::nn::MultiHeadSelfAttention odd(64, 7);
    return 1;
  } catch (const qkv::Error& error) {
    std::printf("error %s\n", error.what());
  }

  const auto model = qkv::make_gpt(
      {.vocab_size = 9, .block_size = 8, .n_layer = 3, .n_embd = 16});
  CountLayers tap;
  qkv::Context context{.tap = &tap};
  model->logits(qkv::Tensor::zeros({1, 4}, qkv::DType::i64), context);
  std::printf("layers %d\n", tap.layers);

  const auto tokens =
      qkv::generate::generate(*model, {.prompt = {1, 2, 3}, .max_tokens = 5});
  std::printf("tokens %zu\n", tokens.size());
}
