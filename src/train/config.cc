#include "core/check.h"
#include "qkv/train.h"

namespace qkv {

TrainObserver::~TrainObserver() = default;

void validate(const TrainConfig& c) {
  if (c.batch_size < 1)
    fail_input("batch_size must be at least 1, not {}", c.batch_size);
  if (!(c.lr > 0)) fail_input("lr must be above 0, not {}", c.lr);
  if (c.warmup_steps > c.steps && c.steps > 0)
    fail_input(
        "warmup_steps {} is longer than the run of {} steps: the rate would "
        "never reach lr",
        c.warmup_steps, c.steps);
  if (c.schedule == optim::ScheduleKind::linear ||
      c.schedule == optim::ScheduleKind::cosine) {
    if (c.min_lr > c.lr) fail_input("min_lr {} is above lr {}", c.min_lr, c.lr);
    const std::int64_t end = c.decay_steps > 0 ? c.decay_steps : c.steps;
    if (end < c.warmup_steps)
      fail_input("decay_steps {} ends before warmup_steps {}", end,
                 c.warmup_steps);
  }
}

}  // namespace qkv
