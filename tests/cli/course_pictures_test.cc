// Where tokens lie, of an embedding whose principal components are known.
#include "cli/course_pictures.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace qkv::cli {
namespace {

constexpr int kTokens = 4;

Bundle with_embedding(std::int64_t width, const std::vector<float>& rows) {
  Bundle bundle;
  bundle.model = make_gpt({.vocab_size = kTokens,
                           .block_size = 2,
                           .n_layer = 0,
                           .n_head = 1,
                           .n_embd = width});
  bundle.tokenizer = character_tokenizer("abcd", false);
  bundle.path = "here";
  for (NamedTensor& one : bundle.model->state())
    if (one.name == "transformer.wte.weight")
      one.tensor.copy_from(Tensor::from<float>({kTokens, width}, rows));
  return bundle;
}

TEST(EmbeddingOf, FindsTheDirectionsOfMostVariance) {
  // Along three directions at right angles; sums and products of the
  // coordinates are 0, so these are the components, with variances 12, 6, 0.18.
  const double at[3][kTokens] = {
      {3, -1, -1, -1}, {0, 2, -1, -1}, {0, 0, 0.3, -0.3}};
  const double direction[3][3] = {{2 / 3.0, 2 / 3.0, 1 / 3.0},
                                  {-2 / 3.0, 1 / 3.0, 2 / 3.0},
                                  {1 / 3.0, -2 / 3.0, 2 / 3.0}};
  const double mean[3] = {5, -7, 0.5};
  std::vector<float> rows;
  for (int token = 0; token < kTokens; ++token)
    for (int c = 0; c < 3; ++c) {
      double x = mean[c];
      for (int k = 0; k < 3; ++k) x += at[k][token] * direction[k][c];
      rows.push_back(static_cast<float>(x));
    }
  const plot::Scatter found = embedding_of(with_embedding(3, rows), "run");
  ASSERT_EQ(found.dots.size(), 4u);
  for (int token = 0; token < kTokens; ++token) {
    EXPECT_EQ(found.dots[token].name, std::string(1, 'a' + token));
    EXPECT_NEAR(found.dots[token].x, at[0][token], 1e-5);
    EXPECT_NEAR(found.dots[token].y, at[1][token], 1e-5);
  }
  EXPECT_EQ(found.x_name, "principal component 1, 66 % of the variance");
  EXPECT_EQ(found.y_name, "principal component 2, 33 % of the variance");
  EXPECT_EQ(found.title,
            "run: token embedding, two principal components of 3 dimensions");
}

TEST(EmbeddingOf, LeavesTwoDimensionsAsTheyAre) {
  const plot::Scatter found =
      embedding_of(with_embedding(2, {1, 2, 3, 4, -5, 6, 7, 8.5}), "run");
  EXPECT_EQ(found.dots[2].x, -5);
  EXPECT_EQ(found.dots[3].y, 8.5);
  EXPECT_EQ(found.title, "run: token embedding, its two dimensions");
}

TEST(EmbeddingOf, HoldsTokensThatAreAllAlike) {
  const plot::Scatter found = embedding_of(
      with_embedding(3, {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}), "run");
  for (const plot::NamedDot& dot : found.dots) {
    EXPECT_EQ(dot.x, 0);
    EXPECT_EQ(dot.y, 0);
  }
  EXPECT_EQ(found.x_name, "principal component 1, 0 % of the variance");
}

}  // namespace
}  // namespace qkv::cli
