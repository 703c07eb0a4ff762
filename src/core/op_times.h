// How long each operation of a step takes, forward and backward.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

struct OpTime {
  std::string op;
  bool backward = false;
  std::int64_t calls = 0;
  double seconds = 0;
};

// While one lives, what this thread records on the tape and runs backward is
// timed: an operation gets the time since the one before it ended (the first
// one since restart(), the first one backward since backward began), so what
// leads to it counts as its own.
class OpTimes {
 public:
  OpTimes();
  ~OpTimes();
  OpTimes(const OpTimes&) = delete;
  OpTimes& operator=(const OpTimes&) = delete;

  void restart() { last_ = Clock::now(); }  // forgets the time since the last
  const std::vector<OpTime>& times() const { return times_; }

  // Called by the tape.
  static OpTimes* current();
  void ended(std::string_view op, bool backward);

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
  std::vector<OpTime> times_;
  OpTimes* before_;
};

}  // namespace qkv
