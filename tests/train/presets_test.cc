#include <gtest/gtest.h>

#include "qkv/error.h"
#include "qkv/train.h"

namespace qkv {
namespace {

TEST(Presets, EachOneIsAValidConfiguration) {
  for (const Preset& p : presets()) {
    SCOPED_TRACE(p.name);
    TrainConfig train;
    auto model = apply_preset(p, train);
    validate(train);
    EXPECT_EQ(model->kind(), p.model_kind);
  }
}

TEST(Presets, AMisspeltNameGetsTheNearest) {
  try {
    preset("makmore");
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'makemore'"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace qkv
