#include "cli/kernel_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/fields_json.h"
#include "core/json.h"
#include "core/op_times.h"
#include "kernels/attention/short.h"
#include "qkv/attention.h"

namespace qkv::cli {
namespace {

KernelChoice attention_choice(std::string work, const AttentionShape& s) {
  const AttentionChoice choice = choose_attention(s, {.mask = Mask::causal()});
  if (choice.kernel == AttentionKernel::reference)
    return {std::move(work), "row by row", std::string(choice.reason)};
  if (kernels::is_short({s.batch, s.heads, s.queries, s.keys, s.width}))
    return {std::move(work), "flash, several heads at once",
            fmt::format("f32, at most {} positions, heads at most {} wide",
                        kernels::kShort, kernels::kShortWidth)};
  return {std::move(work), "flash", std::string(choice.reason)};
}

KernelChoice float_products(std::string work) {
  return {std::move(work), "register tiles", "f32"};
}

// The names of what a forward pass records.
std::set<std::string> operations_of(LanguageModel& model) {
  const std::int64_t length = std::min<std::int64_t>(2, model.block_size());
  const Tensor ids = Tensor::zeros({1, length}, DType::i64);
  Context context;  // not training: no dropout, no statistics kept
  const OpTimes times;
  model.loss(ids, ids, context);
  std::set<std::string> names;
  for (const OpTime& time : times.times()) names.insert(time.op);
  return names;
}

}  // namespace

std::vector<KernelChoice> kernels_here() {
  constexpr std::int64_t kLong = 256, kWidth = 64;
  const auto attention = [](const char* work, std::int64_t length,
                            DType dtype) {
    return attention_choice(work, {1, 1, length, length, kWidth, dtype});
  };
  return {attention("attention", kLong, DType::f32),
          attention("attention_short", kernels::kShort, DType::f32),
          attention("attention_f64", kLong, DType::f64),
          float_products("matrix_products"),
          {"matrix_products_f64", "blocked loops", "f64 is the reference"},
          {"transformer_blocks", "fused",
           "apart where something looks between, or a cache is used"}};
}

std::vector<KernelChoice> kernels_of(LanguageModel& model) {
  if (model.learns_by_counting()) return {};
  const std::set<std::string> names = operations_of(model);
  const auto any = [&](std::initializer_list<const char*> of) {
    return std::any_of(of.begin(), of.end(),
                       [&](const char* name) { return names.contains(name); });
  };
  std::vector<KernelChoice> choices;
  if (any({"attention", "self_attention", "cross_attention"})) {
    auto config = model.config().clone();
    const auto fields =
        fields_to_json([&](FieldVisitor& v) { config->visit(v); });
    const auto heads = fields.value("n_head", std::int64_t{1});
    const std::int64_t length = model.block_size();
    choices.push_back(
        attention_choice("attention", {1, heads, length, length,
                                       fields.value("n_embd", std::int64_t{1}) /
                                           std::max<std::int64_t>(heads, 1)}));
  }
  const bool fused =
      any({"norm_linear", "linear_residual", "activation_linear_residual"});
  if (fused || any({"linear", "matmul", "head_loss"}))
    choices.push_back(float_products("matrix products"));
  if (fused) choices.push_back({"blocks", "fused", "nothing looks between"});
  return choices;
}

std::string in_a_line(const std::vector<KernelChoice>& choices) {
  std::string line;
  for (const KernelChoice& c : choices)
    line += fmt::format("{}{}: {} ({})", line.empty() ? "" : ", ", c.work,
                        c.kernel, c.reason);
  return line;
}

}  // namespace qkv::cli
