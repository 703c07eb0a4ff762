#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/finite.h"
#include "kernels/elementwise/scale.h"
#include "tests/kernels/kernel_test.h"

namespace qkv::kernels {
namespace {

// Every element by its index along each axis.
template <class Visit>
void for_each_index(const Layout& layout, Visit visit) {
  std::array<int64_t, kMaxRank> index{};
  for (int64_t flat = 0; flat < layout.numel(); ++flat) {
    int64_t rest = flat, a = 0, b = 0;
    for (int i = layout.rank - 1; i >= 0; --i) {
      index[i] = rest % layout.size[i];
      rest /= layout.size[i];
      a += index[i] * layout.a[i];
      b += index[i] * layout.b[i];
    }
    visit(flat, a, b);
  }
}

Layout layout(std::vector<int64_t> size, std::vector<int64_t> a,
              std::vector<int64_t> b) {
  Layout l;
  l.rank = static_cast<int>(size.size());
  for (int i = 0; i < l.rank; ++i) {
    l.size[i] = size[i];
    l.a[i] = a[i];
    l.b[i] = b[i];
  }
  return l;
}

const std::vector<Layout> kLayouts = {
    layout({}, {}, {}),      // two scalars
    layout({33}, {1}, {1}),  // the same shape
    layout({33}, {1}, {0}),  // one number
    layout({33}, {0}, {1}),
    layout({33}, {0}, {0}),
    layout({33}, {2}, {1}),            // every second
    layout({5, 17}, {17, 1}, {0, 1}),  // a row to each row
    layout({5, 17}, {17, 1}, {1, 0}),  // a number to each row
    layout({5, 17}, {1, 5}, {17, 1}),  // transposed
    layout({4, 1, 9}, {9, 9, 1}, {0, 0, 1}),
    layout({2, 3, 4, 5}, {60, 0, 5, 1}, {0, 20, 0, 1}),
    layout({2, 3, 2, 3, 2, 3}, {108, 36, 18, 6, 3, 1}, {0, 1, 0, 3, 0, 9}),
    layout({3, 0, 4}, {0, 4, 1}, {0, 4, 1}),  // nothing
    layout({300, 400}, {400, 1}, {0, 1}),     // several threads
};

TEST(Binary, BroadcastsAsTheStridesSay) {
  on_each_set([] {
    for (const Layout& l : kLayouts)
      for (Binary op : {Binary::add, Binary::multiply}) {
        int64_t size_a = 1, size_b = 1;
        for_each_index(l, [&](int64_t, int64_t a, int64_t b) {
          size_a = std::max(size_a, a + 1), size_b = std::max(size_b, b + 1);
        });
        const auto a = normals<float>(size_a, 1), b = normals<float>(size_b, 2);
        std::vector<float> expected(l.numel());
        for_each_index(l, [&](int64_t flat, int64_t ia, int64_t ib) {
          expected[flat] = op == Binary::add ? a[ia] + b[ib] : a[ia] * b[ib];
        });
        with_threads([&] {
          for (auto path :
               {runtime::Path::automatic, runtime::Path::reference}) {
            runtime::UsePath use(path);
            std::vector<float> out(l.numel(), kNaN);
            binary<float>(op, l, a.data(), b.data(), out.data());
            EXPECT_EQ(out, expected);  // one rounding: the same bits
          }
        });
      }
  });
}

TEST(Layout, CollapsesAxesThatStepAsOne) {
  const Layout same = collapse(layout({2, 3, 4}, {12, 4, 1}, {12, 4, 1}));
  EXPECT_EQ(same.rank, 1);
  EXPECT_EQ(same.size[0], 24);
  const Layout row =
      collapse(layout({2, 3, 1, 4}, {12, 4, 9, 1}, {0, 0, 7, 1}));
  EXPECT_EQ(row.rank, 2);
  EXPECT_EQ(row.size[0], 6);
  EXPECT_EQ(row.a[0], 4);
  EXPECT_EQ(row.b[0], 0);
  EXPECT_EQ(collapse(layout({1, 1}, {5, 5}, {5, 5})).rank, 0);
}

TEST(Scale, AndAddScaledRoundOnceAnOperation) {
  on_each_set([] {
    for (int64_t n : {1, 7, 16, 33, 100000})
      for (auto path : {runtime::Path::automatic, runtime::Path::reference}) {
        runtime::UsePath use(path);
        const auto x = normals<float>(n, 1);
        auto y = normals<float>(n, 2), scaled = x, sum = y;
        for (int64_t i = 0; i < n; ++i) scaled[i] = 0.3f * x[i];
        for (int64_t i = 0; i < n; ++i) sum[i] = y[i] + scaled[i];
        add_scaled<float>(x.data(), 0.3f, n, y.data());
        EXPECT_EQ(y, sum);
        y = x;
        scale<float>(y.data(), 0.3f, n, y.data());
        EXPECT_EQ(y, scaled);
      }
  });
}

template <class T>
void check_finite() {
  for (int64_t n : {1, 16, 17, 40, 100000}) {
    auto x = normals<T>(n, 1);
    x[0] = std::numeric_limits<T>::max();
    EXPECT_EQ(first_nonfinite<T>(x.data(), n), -1);
    for (int64_t place : {int64_t{0}, n / 3, n / 2, n - 1})
      for (T bad : {T(kNaN), T(kInfinity), T(-kInfinity)}) {
        auto broken = x;
        broken[place] = bad;
        broken[n - 1] = T(kNaN);  // the first counts
        EXPECT_EQ(first_nonfinite<T>(broken.data(), n), place);
      }
  }
  EXPECT_EQ(first_nonfinite<T>(nullptr, 0), -1);
}

TEST(Finite, FindsTheFirst) {
  on_each_set([] { with_threads([] { check_finite<float>(); }); });
  check_finite<double>();
}

}  // namespace
}  // namespace qkv::kernels
