#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "qkv/generate.h"

namespace qkv::generate {

void validate(const SampleOptions& o) {
  if (!(o.temperature >= 0) || !std::isfinite(o.temperature))
    fail_input("temperature must be a finite number of at least 0, not {}",
               o.temperature);
  if (o.top_k < 0) fail_input("top_k must be at least 0, not {}", o.top_k);
  if (!(o.top_p > 0 && o.top_p <= 1))
    fail_input("top_p must be above 0 and at most 1, not {}", o.top_p);
}

Sampler::Sampler(const SampleOptions& options) : options_(options) {
  validate(options);
}

const std::vector<double>& Sampler::probabilities(
    std::span<const float> logits) {
  const std::size_t n = logits.size();
  float largest = -std::numeric_limits<float>::infinity();
  std::size_t best = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isnan(logits[i]) ||
        logits[i] == std::numeric_limits<float>::infinity())
      fail_numeric("non-finite logits: token {} has {}", i, logits[i]);
    if (logits[i] > largest) {
      largest = logits[i];
      best = i;
    }
  }
  if (!std::isfinite(largest))
    fail_numeric("non-finite logits: all {} are -inf", n);
  probabilities_.assign(n, 0);
  if (options_.temperature == 0) {
    probabilities_[best] = 1;
    return probabilities_;
  }

  // Differences to the largest are at most 0: a tiny temperature makes them
  // -inf, never NaN.
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double difference =
        static_cast<double>(logits[i]) - static_cast<double>(largest);
    probabilities_[i] =
        difference == 0 ? 1 : std::exp(difference / options_.temperature);
    sum += probabilities_[i];
  }

  const bool cut_k =
      options_.top_k > 0 && static_cast<std::size_t>(options_.top_k) < n;
  if (cut_k || options_.top_p < 1) {
    // Likeliest first; equals by id, so that the order is one.
    order_.resize(n);
    for (std::size_t i = 0; i < n; ++i) order_[i] = static_cast<int>(i);
    std::stable_sort(
        order_.begin(), order_.end(),
        [&](std::int64_t a, std::int64_t b) { return logits[a] > logits[b]; });
    std::size_t keep = n;
    if (cut_k) {
      keep = static_cast<std::size_t>(options_.top_k);
      const float last = logits[order_[keep - 1]];
      while (keep < n && logits[order_[keep]] == last) ++keep;
      sum = 0;
      for (std::size_t i = 0; i < keep; ++i) sum += probabilities_[order_[i]];
    }
    if (options_.top_p < 1) {
      double reached = 0;
      std::size_t count = 0;
      while (count < keep && reached < options_.top_p * sum)
        reached += probabilities_[order_[count++]];
      keep = std::max<std::size_t>(count, 1);
    }
    for (std::size_t i = keep; i < n; ++i) probabilities_[order_[i]] = 0;
    sum = 0;
    for (double p : probabilities_) sum += p;
  }
  for (double& p : probabilities_) p /= sum;
  return probabilities_;
}

std::int64_t Sampler::pick(std::span<const float> logits, double u) {
  const std::vector<double>& p = probabilities(logits);
  double reached = 0;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] == 0) continue;
    last = static_cast<std::int64_t>(i);
    reached += p[i];
    if (u < reached) return last;
  }
  return last;  // rounding left the sum just below 1
}

}  // namespace qkv::generate
