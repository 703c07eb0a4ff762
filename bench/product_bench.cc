// How near one core comes to its peak in the products of a linear layer, with
// operands that stay in its caches ("hot") and with new rows each time ("new
// rows"). Each time is taken between two measurements of the peak: the share
// repeats to a per cent or two, however the clock moves.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "kernels/peak/peak.h"
#include "ops/linear_products.h"
#include "qkv/runtime.h"
#include "qkv/tensor.h"

namespace qkv {
namespace {

using std::int64_t;

double seconds_of(const auto& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

// Operations a second of one core (a multiply-add is two), over some 0.1 ms.
double peak_now() {
  [[maybe_unused]] volatile float kept = 0;
  float sink = 0;
  double done = 0;
  const double seconds =
      seconds_of([&] { done = kernels::multiply_adds(1 << 15, &sink); });
  kept = sink;
  return done / seconds;
}

// The median share of the peak, in per cent.
double share(double operations, const auto& run) {
  run();
  const double once = seconds_of(run);
  const int inner = std::max(1, static_cast<int>(3e-4 / once));
  std::vector<double> shares;
  for (int i = 0; i < 15; ++i) {
    const double before = peak_now();
    const double seconds = seconds_of([&] {
      for (int j = 0; j < inner; ++j) run();
    });
    const double peak = (before + peak_now()) / 2;
    shares.push_back(100 * operations * inner / seconds / peak);
  }
  std::nth_element(shares.begin(), shares.begin() + 7, shares.end());
  return shares[7];
}

struct Linear {
  int64_t rows, in, out;
};

Tensor halves(int64_t rows, int64_t cols) {
  return Tensor::full({rows, cols}, 0.5);
}

void measure(const Linear& l) {
  const int64_t most = std::max(l.in, l.out);
  const int64_t blocks = std::max<int64_t>(1, (1 << 23) / (l.rows * most));
  Tensor x = halves(blocks * l.rows, l.in), y = halves(blocks * l.rows, l.out),
         w = halves(l.out, l.in), dw = halves(l.out, l.in);
  const auto row = [&](Tensor& t, int64_t block) {
    return t.data<float>() + block * l.rows * t.dim(1);
  };
  const LinearProducts<float> products{w.data<float>(), l.in, l.out};
  const double work = 2.0 * static_cast<double>(l.rows * l.in * l.out);
  const auto print = [&](const char* what, const auto& run) {
    x.fill(0.5);
    y.fill(0.5);
    const double hot = share(work, [&] { run(0); });
    int64_t next = 0;
    const double fresh = share(work, [&] {
      run(next);
      next = (next + 1) % blocks;
    });
    fmt::print("{:>5} rows {:>5} -> {:<5} {:<16} {:>6.1f} {:>10.1f}\n", l.rows,
               l.in, l.out, what, hot, fresh);
  };
  print("forward", [&](int64_t block) {
    products.forward(row(x, block), l.rows, nullptr, row(y, block));
  });
  print("to the input", [&](int64_t block) {
    products.to_input(row(y, block), l.rows, row(x, block));
  });
  print("to the weight", [&](int64_t block) {
    products.to_weight(row(y, block), row(x, block), l.rows, dw.data<float>());
  });
}

}  // namespace
}  // namespace qkv

int main() {
  qkv::runtime::set_threads(1);
  fmt::print(
      "% of one core's peak                            hot   new rows\n");
  for (const qkv::Linear& l :
       std::initializer_list<qkv::Linear>{{512, 64, 192},
                                          {512, 64, 256},
                                          {512, 256, 64},
                                          {512, 64, 27},
                                          {384, 128, 384},
                                          {384, 128, 512},
                                          {384, 512, 128},
                                          {256, 384, 1152},
                                          {256, 384, 1536},
                                          {256, 1536, 384},
                                          {256, 768, 3072}})
    qkv::measure(l);
}
