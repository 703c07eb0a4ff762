#include "kernels/elementwise/copy.h"

#include <numeric>

#include "tests/kernels/kernel_test.h"

namespace qkv::kernels {
namespace {

// A target row-major or with gaps, a source with its axes in the given order.
struct Case {
  std::vector<int64_t> size;
  std::vector<int> source_order;  // axes from outermost to innermost
  int64_t gap;                    // unused elements behind each source element
};
const std::vector<Case> kCases = {
    {{}, {}, 0},
    {{7}, {0}, 0},
    {{7}, {0}, 2},
    {{33, 65}, {0, 1}, 0},
    {{33, 65}, {1, 0}, 0},             // a transposition
    {{300, 257}, {1, 0}, 0},           // on several threads
    {{2, 16, 4, 9}, {0, 2, 1, 3}, 0},  // heads before positions
    {{2, 4, 31, 33}, {0, 1, 3, 2}, 0},
    {{3, 5, 7}, {2, 1, 0}, 0},
    {{3, 5, 7}, {2, 0, 1}, 1},
    {{2, 3, 2, 3, 2, 3}, {5, 3, 1, 4, 2, 0}, 0},
    {{4, 0, 3}, {2, 1, 0}, 0},
};

template <class E>
void check(const Case& c, int64_t target_gap) {
  Layout l;
  l.rank = static_cast<int>(c.size.size());
  int64_t source_size = 1, target_size = 1;
  for (int i = l.rank - 1; i >= 0; --i) {
    l.size[i] = c.size[i];
    l.b[i] = target_size * (target_gap + 1);
    target_size *= c.size[i];
    const int axis = c.source_order[i];
    l.a[axis] = source_size * (c.gap + 1);
    source_size *= c.size[axis];
  }
  std::vector<E> source(source_size * (c.gap + 1));
  std::iota(source.begin(), source.end(), E(1));
  std::vector<E> target(target_size * (target_gap + 1), E(0)),
      expected = target;
  for (int64_t flat = 0; flat < l.numel(); ++flat) {
    int64_t rest = flat, a = 0, b = 0;
    for (int i = l.rank - 1; i >= 0; --i) {
      a += rest % l.size[i] * l.a[i];
      b += rest % l.size[i] * l.b[i];
      rest /= l.size[i];
    }
    expected[b] = source[a];
  }
  copy(l, sizeof(E), source.data(), target.data());
  EXPECT_EQ(target, expected);
}

TEST(Copy, FollowsBothStridesForEveryElementSize) {
  with_threads([] {
    for (const Case& c : kCases)
      for (int64_t target_gap : {0, 1}) {
        check<std::uint8_t>(c, target_gap);
        check<std::uint16_t>(c, target_gap);
        check<float>(c, target_gap);
        check<double>(c, target_gap);
      }
  });
}

}  // namespace
}  // namespace qkv::kernels
