#include <limits>

#include "qkv/attention.h"
#include "tests/cases/op_case.h"

namespace qkv::test {
namespace {

// What a label stands for; B is 2 in all cases.
AttentionOptions options_of(std::string_view mask, std::int64_t queries,
                            std::int64_t keys) {
  AttentionOptions options;
  if (mask == "Causal") options.mask = Mask::causal();
  if (mask == "Window") options.mask = Mask::window(3);
  if (mask == "Lengths")
    options.mask = Mask::none().with_key_lengths(
        Tensor::from<std::int64_t>({2}, {keys / 2, keys}));
  if (mask == "Alibi") options.mask = Mask::causal().with_alibi();
  if (mask == "Dense") {  // row 2 sees nothing
    Tensor bias = Tensor::zeros({queries, keys}, DType::f64);
    for (std::int64_t i = 0; i < queries; ++i)
      for (std::int64_t j = 0; j < keys; ++j)
        bias.data<double>()[i * keys + j] =
            i == 2 || (i + 2 * j) % 5 == 0
                ? -std::numeric_limits<double>::infinity()
                : 0.125 * static_cast<double>((i * j) % 7);
    options.mask = Mask::none().with_dense(bias);
  }
  if (mask == "Dropout") {
    options.mask = Mask::causal();
    options.dropout = 0.25;
    options.rng = StepRng{.seed = 3, .step = 1};
    options.stream = 77;
  }
  if (mask == "Scaled") options.scale = 0.7;
  return options;
}

constexpr const char* kMasks[] = {"None",  "Causal", "Window",  "Lengths",
                                  "Alibi", "Dense",  "Dropout", "Scaled"};

std::string label(std::string_view mask, std::int64_t queries,
                  std::int64_t keys) {
  return std::string(mask) + std::to_string(queries) + "x" +
         std::to_string(keys);
}

double flops_of(std::int64_t heads, std::int64_t queries, std::int64_t keys,
                std::int64_t width) {
  return 4.0 * static_cast<double>(2 * heads * queries * keys * width);
}

std::vector<OpCase> separate() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string_view mask, std::int64_t heads,
                       std::int64_t queries, std::int64_t keys,
                       std::int64_t width) {
    cases.push_back({.op = "attention",
                     .label = label(mask, queries, keys),
                     .inputs =
                         [=](DType dtype, TorchRng& rng) {
                           return std::vector<Tensor>{
                               normal({2, heads, queries, width}, dtype, rng),
                               normal({2, heads, keys, width}, dtype, rng),
                               normal({2, heads, keys, width}, dtype, rng)};
                         },
                     .run =
                         [=](const auto& in) {
                           return attention(in[0], in[1], in[2],
                                            options_of(mask, queries, keys))
                               .output;
                         },
                     .flops = flops_of(heads, queries, keys, width),
                     .sparse_gradients = queries == 0 || keys == 0});
  };
  for (const char* mask : kMasks) {
    add(mask, 3, 5, 9, 4);
    add(mask, 1, 70, 33, 9);
  }
  add("Causal", 2, 0, 4, 3);
  add("Causal", 2, 4, 0, 3);
  return cases;
}

std::vector<OpCase> packed_self() {
  std::vector<OpCase> cases;
  for (const char* mask : kMasks)
    for (std::int64_t length : {6, 33})
      cases.push_back({.op = "self_attention",
                       .label = label(mask, length, length),
                       .inputs =
                           [=](DType dtype, TorchRng& rng) {
                             return std::vector<Tensor>{
                                 normal({2, length, 3 * 12}, dtype, rng)};
                           },
                       .run =
                           [=](const auto& in) {
                             return self_attention(
                                        in[0], 3,
                                        options_of(mask, length, length))
                                 .output;
                           },
                       .flops = flops_of(3, length, length, 4)});
  return cases;
}

std::vector<OpCase> packed_cross() {
  std::vector<OpCase> cases;
  for (const char* mask : kMasks)
    cases.push_back(
        {.op = "cross_attention",
         .label = label(mask, 7, 18),
         .inputs =
             [=](DType dtype, TorchRng& rng) {
               return std::vector<Tensor>{normal({2, 7, 16}, dtype, rng),
                                          normal({2, 18, 32}, dtype, rng)};
             },
         .run =
             [=](const auto& in) {
               return cross_attention(in[0], in[1], 2, options_of(mask, 7, 18))
                   .output;
             },
         .flops = flops_of(2, 7, 18, 8)});
  return cases;
}

struct Size {
  std::int64_t batch, heads, length, width;

  std::string str() const {
    return "B" + std::to_string(batch) + " H" + std::to_string(heads) + " T" +
           std::to_string(length) + " d" + std::to_string(width);
  }
  Shape packed(std::int64_t parts) const {
    return {batch, length, parts * heads * width};
  }
};

// Of causal attention the visible half counts: two products of T²/2 rows of d.
// Backward is two and a half times the forward.
OpCase timed(const char* op, const Size& s, double visible,
             std::vector<Shape> shapes,
             const std::function<Tensor(const std::vector<Tensor>&)>& f) {
  return {.op = op,
          .label = s.str(),
          .inputs =
              [shapes = std::move(shapes)](DType dtype, TorchRng& rng) {
                std::vector<Tensor> all;
                for (const Shape& shape : shapes)
                  all.push_back(normal(shape, dtype, rng));
                return all;
              },
          .run = f,
          .flops = 2 * flops_of(s.heads, s.length, s.length, s.width) / 4 *
                   static_cast<double>(s.batch) * visible,
          .with_backward = 3.5};
}

std::vector<OpCase> timed_attentions() {
  std::vector<OpCase> cases;
  for (const Size& s :
       {Size{32, 4, 16, 16}, Size{12, 4, 64, 32}, Size{16, 6, 256, 64}}) {
    const Shape alone{s.batch, s.heads, s.length, s.width};
    cases.push_back(
        timed("attention", s, 0.5, {alone, alone, alone}, [](const auto& in) {
          return attention(in[0], in[1], in[2], {.mask = Mask::causal()})
              .output;
        }));
    cases.push_back(
        timed("self_attention", s, 0.5, {s.packed(3)}, [s](const auto& in) {
          return self_attention(in[0], s.heads, {.mask = Mask::causal()})
              .output;
        }));
    cases.push_back(
        timed("cross_attention", s, 1, {s.packed(1), s.packed(2)},
              [s](const auto& in) {
                return cross_attention(in[0], in[1], s.heads).output;
              }));
  }
  return cases;
}

const AddBenchmarks kTimes(timed_attentions());
const AddCases kSeparate(separate());
const AddCases kSelf(packed_self());
const AddCases kCross(packed_cross());

}  // namespace
}  // namespace qkv::test
