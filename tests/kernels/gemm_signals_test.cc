// Signal handlers run while products are computed, on the threads that compute
// them: nothing of the heap may change under them.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "qkv/runtime.h"
#include "tests/kernels/kernel_test.h"

namespace qkv::kernels {
namespace {

std::atomic<int> g_signals{0};

struct Handler {
  Handler() {
    struct sigaction action {};
    action.sa_handler = [](int) { ++g_signals; };
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, &before);
  }
  ~Handler() { sigaction(SIGUSR1, &before, nullptr); }
  struct sigaction before {};
};

struct Product {
  int64_t m, n, k;
  bool trans_a = false, trans_b = true;
  std::vector<float> a = normals<float>(m * k, 1), b = normals<float>(n * k, 2);
  std::vector<float> c = std::vector<float>(m * n);
  std::vector<float> workspace = std::vector<float>(1 << 20);
  void run() {
    gemm<float>({.trans_a = trans_a,
                 .trans_b = trans_b,
                 .m = m,
                 .n = n,
                 .k = k,
                 .a = a.data(),
                 .lda = trans_a ? m : k,
                 .b = b.data(),
                 .ldb = trans_b ? k : n,
                 .c = c.data(),
                 .ldc = n},
                workspace.data());
  }
};

// Another process does it: what fails here is the heap.
[[noreturn]] void compute_under_fire() {
  const Handler handler;
  // All on the thread that the signals are sent to.
  runtime::set_threads(1);
  // As of a small model: forward and both gradients.
  std::vector<Product> products{{384, 128, 32},
                                {384, 32, 128},
                                {128, 32, 384, true, false},
                                {384, 32, 128, false, false},
                                {512, 384, 64},
                                {100, 96, 200, true, false},
                                {64, 64, 64}};
  std::vector<std::vector<float>> right;
  for (Product& product : products) {
    product.run();
    right.push_back(product.c);
  }
  std::atomic<bool> stop{false};
  std::thread sender([&stop, target = pthread_self()] {
    while (!stop) {
      pthread_kill(target, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(5));
    }
  });
  bool same = true;
  for (int i = 0; i < 4000; ++i) {
    for (std::size_t p = 0; p < products.size(); ++p) {
      products[p].run();
      same = same && products[p].c == right[p];
    }
    // A damaged heap shows where it is used.
    std::vector<float> scratch(1000 + static_cast<std::size_t>(i));
    same = same && scratch[0] == 0;
  }
  stop = true;
  sender.join();
  std::_Exit(!same ? 3 : g_signals < 100 ? 4 : 0);
}

TEST(GemmSignals, AHandlerDoesNotHarmTheHeap) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(compute_under_fire(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace qkv::kernels
