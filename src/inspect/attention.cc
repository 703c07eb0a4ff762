#include <cmath>

#include "core/check.h"
#include "inspect/capture.h"
#include "qkv/inspect.h"

namespace qkv::inspect {
namespace {

// Counts layers and heads by what passes the sites.
struct Counter final : Tap {
  Heads found;
  bool wants(Site site) const override { return site.name == "attn.weights"; }
  Tensor at(Site site, Tensor value) override {
    found.layers = std::max(found.layers, site.layer + 1);
    found.heads = static_cast<int>(value.dim(1));
    return value;
  }
};

void check_choice(const Heads& heads, int layer, int head) {
  if (layer < -1 || layer >= heads.layers)
    fail_input("layer {} does not exist: the model has layers 0 to {}", layer,
               heads.layers - 1);
  if (head < -1 || head >= heads.heads)
    fail_input("head {} does not exist: a layer has heads 0 to {}", head,
               heads.heads - 1);
}

// One head's queries (part 0), keys (1) or values (2) out of (1,T,3·H·d).
std::vector<float> head_part(const Tensor& qkv, int part, int head,
                             std::int64_t heads) {
  const std::int64_t length = qkv.dim(1), width = qkv.dim(2) / 3;
  const std::int64_t d = width / heads;
  return slice(reshape(qkv, {length, 3 * width}), 1, part * width + head * d,
               part * width + (head + 1) * d)
      .to_vector<float>();
}

// q kᵀ, each sum in double: this is for looking, not for speed.
std::vector<float> products(const std::vector<float>& q,
                            const std::vector<float>& k, std::int64_t length,
                            std::int64_t d) {
  std::vector<float> scores(static_cast<std::size_t>(length * length));
  for (std::int64_t i = 0; i < length; ++i)
    for (std::int64_t j = 0; j < length; ++j) {
      double sum = 0;
      for (std::int64_t c = 0; c < d; ++c)
        sum += static_cast<double>(q[i * d + c]) * k[j * d + c];
      scores[i * length + j] = static_cast<float>(sum);
    }
  return scores;
}

void hide_future(std::vector<float>& values, std::int64_t length) {
  for (std::int64_t i = 0; i < length; ++i)
    for (std::int64_t j = i + 1; j < length; ++j)
      values[i * length + j] = kHidden;
}

std::vector<float> head_weights(const Tensor& weights, int head) {
  const std::int64_t length = weights.dim(2);
  auto values = reshape(slice(weights, 1, head, head + 1), {length, length})
                    .to_vector<float>();
  hide_future(values, length);
  return values;
}

}  // namespace

Heads count_heads(LanguageModel& model) {
  Counter counter;
  const std::int64_t id = 0;
  run(model, std::span(&id, 1), counter);
  if (counter.found.layers == 0)
    fail_input("a {} model has no attention to look at", model.config().kind());
  return counter.found;
}

std::vector<AttentionMap> attention_maps(LanguageModel& model,
                                         std::span<const std::int64_t> ids,
                                         Stage stage, int layer, int head) {
  const Heads heads = count_heads(model);
  check_choice(heads, layer, head);
  const char* site = stage == Stage::weights ? "attn.weights" : "attn.qkv";
  Capture capture({site}, layer);
  run(model, ids, capture);
  const auto length = static_cast<std::int64_t>(ids.size());
  std::vector<AttentionMap> maps;
  for (int l = 0; l < heads.layers; ++l) {
    if (layer >= 0 && l != layer) continue;
    const Tensor& captured = capture.get(l, site);
    for (int h = 0; h < heads.heads; ++h) {
      if (head >= 0 && h != head) continue;
      AttentionMap map{l, h, length, {}};
      if (stage == Stage::weights) {
        map.values = head_weights(captured, h);
      } else {
        const std::int64_t d = captured.dim(2) / 3 / heads.heads;
        map.values =
            products(head_part(captured, 0, h, heads.heads),
                     head_part(captured, 1, h, heads.heads), length, d);
        if (stage == Stage::scaled)
          for (float& value : map.values)
            value =
                static_cast<float>(value / std::sqrt(static_cast<double>(d)));
        hide_future(map.values, length);
      }
      maps.push_back(std::move(map));
    }
  }
  return maps;
}

HeadSteps head_steps(LanguageModel& model, std::span<const std::int64_t> ids,
                     int layer, int head) {
  const Heads heads = count_heads(model);
  check_choice(heads, layer, head);
  if (layer < 0 || head < 0)
    fail_input("the steps are those of one head: name its layer and head");
  Capture capture({"attn.in", "attn.qkv", "attn.weights", "attn.z"}, layer);
  run(model, ids, capture);
  const Tensor& qkv = capture.get(layer, "attn.qkv");
  HeadSteps s;
  s.layer = layer;
  s.head = head;
  s.length = static_cast<std::int64_t>(ids.size());
  s.width = qkv.dim(2) / 3;
  s.head_width = s.width / heads.heads;
  s.scale = 1 / std::sqrt(static_cast<double>(s.head_width));
  s.x = capture.get(layer, "attn.in").to_vector<float>();
  s.q = head_part(qkv, 0, head, heads.heads);
  s.k = head_part(qkv, 1, head, heads.heads);
  s.v = head_part(qkv, 2, head, heads.heads);
  s.raw = products(s.q, s.k, s.length, s.head_width);
  s.scaled = s.raw;
  for (float& value : s.scaled) value = static_cast<float>(value * s.scale);
  s.masked = s.scaled;
  hide_future(s.masked, s.length);
  s.weights = head_weights(capture.get(layer, "attn.weights"), head);
  s.output = slice(reshape(capture.get(layer, "attn.z"), {s.length, s.width}),
                   1, head * s.head_width, (head + 1) * s.head_width)
                 .to_vector<float>();
  return s;
}

}  // namespace qkv::inspect
