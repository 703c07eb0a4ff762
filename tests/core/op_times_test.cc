#include "core/op_times.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "qkv/autograd.h"
#include "qkv/ops.h"

namespace qkv {
namespace {

TEST(OpTimes, CountsWhatIsRecordedAndRunBackward) {
  Tensor x = Tensor::full({4, 4}, 0.5);
  x.set_requires_grad(true);
  const Tensor ones = Tensor::full({4, 4}, 1);
  const auto cube = [&] { return mul(scale(mul(x, x), 2), x); };
  std::map<std::string, std::int64_t> calls;
  {
    OpTimes times;
    backward_from(cube(), ones);
    for (const OpTime& time : times.times()) {
      EXPECT_GT(time.seconds, 0);
      calls[std::string(time.op) + (time.backward ? " backward" : "")] =
          time.calls;
    }
  }
  const std::map<std::string, std::int64_t> expected = {
      {"mul", 2}, {"mul backward", 2}, {"scale", 1}, {"scale backward", 1}};
  EXPECT_EQ(calls, expected);
  EXPECT_EQ(OpTimes::current(), nullptr);
  backward_from(cube(), ones);  // nobody measures
}

}  // namespace
}  // namespace qkv
