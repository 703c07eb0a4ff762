#include "tests/examples/example.h"

namespace qkv::project {
namespace {

// A printed matrix of weights, from the line after its title.
std::vector<std::vector<double>> matrix_at(
    const std::vector<std::string>& lines, std::size_t line) {
  std::vector<std::vector<double>> rows;
  for (; line < lines.size() && !lines[line].empty(); ++line) {
    std::istringstream in(lines[line].substr(0, lines[line].find("sum")));
    rows.emplace_back();
    for (double x; in >> x;) rows.back().push_back(x);
  }
  return rows;
}

TEST(AttentionExample, PrintsShapesAndWeights) {
  const auto lines = run_example("attention");
  ASSERT_EQ(lines.size(), 22u);
  EXPECT_EQ(lines[0],
            "SelfAttention(32)             x (2,5,32)                      -> "
            "out (2,5,32)   weights (2,5,5)");
  EXPECT_EQ(lines[1],
            "MultiHeadSelfAttention(64,8)  x (1,10,64)                     -> "
            "out (1,10,64)  weights (1,8,10,10)");
  EXPECT_EQ(lines[2],
            "TinyGPTBlock(128,4,256)       x (2,12,128)                    -> "
            "out (2,12,128) weights (2,4,12,12)");
  EXPECT_EQ(lines[3],
            "CrossAttention(32,4)          x (2,3,32), memory (2,7,32)     -> "
            "out (2,3,32)   weights (2,4,3,7)");
  const auto free = matrix_at(lines, 6), causal = matrix_at(lines, 13);
  ASSERT_EQ(free.size(), 5u);
  ASSERT_EQ(causal.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_EQ(free[i].size(), 5u);
    ASSERT_EQ(causal[i].size(), 5u);
    double sum = 0, causal_sum = 0;
    for (std::size_t j = 0; j < 5; ++j) {
      EXPECT_GT(free[i][j], 0);
      EXPECT_EQ(causal[i][j] > 0, j <= i);
      sum += free[i][j];
      causal_sum += causal[i][j];
    }
    EXPECT_NEAR(sum, 1, 0.03);  // two decimals each
    EXPECT_NEAR(causal_sum, 1, 0.03);
  }
  EXPECT_EQ(lines[19],
            "d mean(out) / d x has shape (2,5,32), d / d query.weight (32,32)");
  EXPECT_EQ(lines[21],
            "8 heads of one packed projection, or 8 separate heads side by "
            "side: largest difference 0.000000");
}

}  // namespace
}  // namespace qkv::project
