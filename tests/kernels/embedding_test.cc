#include "kernels/embedding/embedding.h"

#include "tests/kernels/kernel_test.h"

namespace qkv::kernels {
namespace {

std::vector<int64_t> random_ids(int64_t count, int64_t limit) {
  TorchRng rng(9);
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(rng.randint(limit));
  return ids;
}

TEST(Embedding, GathersRowsAndAddsTheirGradientsInOrder) {
  for (int64_t width : {1, 3, 63, 64, 65, 130, 768})
    for (int64_t count : {0, 1, 7, 400}) {
      const int64_t rows = 5;  // so that every id comes often
      const auto ids = random_ids(count, rows);
      const auto table = normals<float>(rows * width, 1);
      const auto dy = normals<float>(count * width, 2);
      std::vector<float> out(count * width, kNaN), expected;
      std::vector<float> sums = normals<float>(rows * width, 3);
      const auto before = sums;
      for (int64_t id : ids)
        expected.insert(expected.end(), table.begin() + id * width,
                        table.begin() + (id + 1) * width);
      for (int64_t i = 0; i < count; ++i)
        for (int64_t j = 0; j < width; ++j)
          sums[ids[i] * width + j] += dy[i * width + j];
      with_threads([&] {
        embedding<float>(table.data(), width, ids.data(), count, out.data());
        EXPECT_EQ(out, expected);
        auto dtable = before;
        embedding_backward<float>(dy.data(), width, ids.data(), count,
                                  dtable.data());
        EXPECT_EQ(dtable, sums);
      });
    }
}

TEST(Embedding, FindsTheFirstIdOutOfRange) {
  const std::vector<int64_t> ids = {0, 4, 2, 5, -1, 7};
  EXPECT_EQ(first_out_of_range(ids.data(), 6, 5), 3);
  EXPECT_EQ(first_out_of_range(ids.data(), 3, 5), -1);
  EXPECT_EQ(first_out_of_range(ids.data(), 6, 6), 4);
  EXPECT_EQ(first_out_of_range(ids.data(), 6, 6, -1), 5);
  EXPECT_EQ(first_out_of_range(ids.data(), 6, 8, -1), -1);
  EXPECT_EQ(first_out_of_range(ids.data(), 0, 5), -1);
}

}  // namespace
}  // namespace qkv::kernels
