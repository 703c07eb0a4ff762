// Looking inside a model: plain numbers out, nothing drawn here. Throws Error
// (input) on no ids, ids outside the vocabulary, and more than the context.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "qkv/export.h"
#include "qkv/fields.h"
#include "qkv/model.h"

namespace qkv::inspect {

// raw: q·k. scaled: q·k/√d. weights: softmax of that over the visible keys.
enum class Stage { raw, scaled, weights };

// What a map holds for a pair that the mask hides, as the mask itself writes
// it.
inline constexpr float kHidden = -std::numeric_limits<float>::infinity();

// One head on one text. values (T,T) row-major, row the query; kHidden where
// the mask hides the key.
struct AttentionMap {
  int layer = 0, head = 0;
  std::int64_t length = 0;
  std::vector<float> values;
};

// Of one layer and head, or of all where layer or head is -1; layer by layer.
// Throws when the model has no such layer or head, or no attention at all.
QKV_API std::vector<AttentionMap> attention_maps(
    LanguageModel& model, std::span<const std::int64_t> ids, Stage stage,
    int layer = -1, int head = -1);

// Everything that one head computes, on the way from its input to its output.
// Row-major; T tokens, D the model's width, d the head's.
struct HeadSteps {
  int layer = 0, head = 0;
  std::int64_t length = 0, width = 0, head_width = 0;
  double scale = 1;                    // 1/√d
  std::vector<float> x;                // (T,D), after the norm
  std::vector<float> q, k, v;          // (T,d)
  std::vector<float> raw, scaled;      // (T,T), every pair
  std::vector<float> masked, weights;  // (T,T), hidden pairs kHidden
  std::vector<float> output;           // (T,d): weights · v
};
QKV_API HeadSteps head_steps(LanguageModel& model,
                             std::span<const std::int64_t> ids, int layer,
                             int head);

// How many layers and heads there are; throws when there is no attention.
struct Heads {
  int layers = 0, heads = 0;
};
QKV_API Heads count_heads(LanguageModel& model);

}  // namespace qkv::inspect

namespace qkv {

template <>
struct EnumNames<inspect::Stage> {
  static constexpr std::string_view names[] = {"raw", "scaled", "weights"};
};

}  // namespace qkv
