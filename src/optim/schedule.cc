#include <cmath>
#include <numbers>

#include "core/check.h"
#include "qkv/optim.h"

namespace qkv::optim {

double Schedule::at(std::int64_t k) const {
  validate(*this);
  if (k < warmup_steps)
    return lr * static_cast<double>(k + 1) /
           static_cast<double>(warmup_steps + 1);
  if (kind == ScheduleKind::constant) return lr;
  if (kind == ScheduleKind::step)
    return lr * std::pow(step_factor, static_cast<double>(k / step_every));
  if (k >= decay_steps) return min_lr;
  const double done = static_cast<double>(k - warmup_steps) /
                      static_cast<double>(decay_steps - warmup_steps);
  const double left = kind == ScheduleKind::linear
                          ? 1 - done
                          : 0.5 * (1 + std::cos(std::numbers::pi * done));
  return min_lr + left * (lr - min_lr);
}

void validate(const Schedule& s) {
  if (!(s.lr >= 0) || !std::isfinite(s.lr))
    fail_input("lr must be finite and not negative, not {}", s.lr);
  if (s.warmup_steps < 0)
    fail_input("warmup_steps must not be negative, not {}", s.warmup_steps);
  if (s.kind == ScheduleKind::linear || s.kind == ScheduleKind::cosine) {
    if (!(s.min_lr >= 0 && s.min_lr <= s.lr))
      fail_input("min_lr must be from 0 to lr ({}), not {}", s.lr, s.min_lr);
    if (s.decay_steps < s.warmup_steps)
      fail_input(
          "decay_steps {} ends before warmup_steps {}: lower warmup_steps or "
          "train longer",
          s.decay_steps, s.warmup_steps);
  }
  if (s.kind == ScheduleKind::step) {
    if (s.step_every < 1)
      fail_input("step_every must be at least 1, not {}", s.step_every);
    if (!(s.step_factor > 0 && s.step_factor <= 1))
      fail_input("step_factor must be above 0 and at most 1, not {}",
                 s.step_factor);
  }
}

}  // namespace qkv::optim
