#include "core/op_times.h"

namespace qkv {
namespace {
thread_local OpTimes* t_current = nullptr;
}  // namespace

OpTimes::OpTimes() : before_(t_current) { t_current = this; }
OpTimes::~OpTimes() { t_current = before_; }
OpTimes* OpTimes::current() { return t_current; }

void OpTimes::ended(std::string_view op, bool backward) {
  const Clock::time_point now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - last_).count();
  last_ = now;
  for (OpTime& time : times_)
    if (time.op == op && time.backward == backward) {
      ++time.calls;
      time.seconds += seconds;
      return;
    }
  times_.push_back({std::string(op), backward, 1, seconds});
}

}  // namespace qkv
