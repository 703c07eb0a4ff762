// The include checker passes the tree and catches what is planted in a copy.
#include <gtest/gtest.h>

#include "tests/project/shell.h"

namespace qkv::project {
namespace {

Result check(const fs::path& root) {
  return shell("'" + (kSource / "script/check-includes").string() + "' '" +
               root.string() + "'");
}

TEST(Includes, TreeFollowsTheTable) {
  const Result result = check(kSource);
  EXPECT_EQ(result.status, 0) << result.output;
}

struct Plant {
  const char* file;
  const char* line;
  const char* complaint;
  friend void PrintTo(const Plant& plant, std::ostream* out) {
    *out << plant.file << ": " << plant.line;
  }
};

class PlantedInclude : public testing::TestWithParam<Plant> {};

TEST_P(PlantedInclude, IsCaught) {
  const Plant& plant = GetParam();
  TempFolder copy;
  for (const char* folder : {"include", "src"})
    fs::copy(kSource / folder, copy / folder, fs::copy_options::recursive);
  ASSERT_EQ(check(copy.path()).status, 0);

  write(copy / plant.file, std::string("// A comment.\n") + plant.line + "\n");
  const Result result = check(copy.path());
  EXPECT_NE(result.status, 0);
  EXPECT_EQ(result.output,
            std::string(plant.file) + ":2: " + plant.complaint + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    , PlantedInclude,
    testing::Values(
        Plant{"src/core/planted.cc", "#include \"qkv/ops.h\"",
              "core may not include ops (qkv/ops.h)"},
        Plant{"src/core/planted.cc", "  #  include \"nn/tap.h\"",
              "core may not include nn (nn/tap.h)"},
        Plant{"src/nn/planted.h", "#include \"qkv/model.h\" // up",
              "nn may not include models (qkv/model.h)"},
        Plant{"src/io/deep/planted.cc", "#include \"qkv/nn/module.h\"",
              "io may not include nn (qkv/nn/module.h)"},
        Plant{"src/plot/planted.cc", "#include \"qkv/tap.h\"",
              "plot may not include nn (qkv/tap.h)"},
        Plant{"src/kernels/gemm/planted.cc", "#include \"qkv/tensor.h\"",
              "kernels may not include qkv/tensor.h"},
        Plant{"src/kernels/planted.h", "#include \"core/tensor_impl.h\"",
              "kernels may not include core/tensor_impl.h"},
        Plant{"src/ops/planted.cc", "#include <hwy/highway.h>",
              "ops may not include hwy/highway.h"},
        Plant{"src/train/planted.cc", "#include <iostream>",
              "train may not include iostream"},
        Plant{"include/qkv/rng.h", "#include \"core/check.h\"",
              "a public header may include only qkv/…, not core/check.h"},
        Plant{"include/qkv/dtype.h", "#include \"qkv/ops.h\"",
              "core may not include ops (qkv/ops.h)"},
        Plant{"examples/planted.cc", "#include \"core/check.h\"",
              "an example may include only qkv/…, not core/check.h"},
        Plant{"src/core/planted.cc", "#include \"check.h\"",
              "\"check.h\" is no file of include/ or src/: write the path "
              "from there, foreign headers in <>"},
        Plant{"src/core/planted.cc", "#include \"core/../core/check.h\"",
              "\"core/../core/check.h\" is no file of include/ or src/: write "
              "the path from there, foreign headers in <>"},
        Plant{"src/nn/planted.cc", "#include \"nn/absent.h\"",
              "\"nn/absent.h\" is no file of include/ or src/: write the path "
              "from there, foreign headers in <>"}));

TEST(Includes, FolderOutsideTheTableIsCaught) {
  TempFolder copy;
  write(copy / "src/misc/planted.cc", "int x;\n");
  const Result result = check(copy.path());
  EXPECT_NE(result.status, 0);
  EXPECT_EQ(result.output,
            "src/misc/planted.cc:1: belongs to no folder of the table in "
            "script/check-includes\n");
}

TEST(Includes, PublicHeaderOutsideTheTableIsCaught) {
  TempFolder copy;
  write(copy / "include/qkv/planted.h", "#pragma once\n");
  EXPECT_NE(check(copy.path()).status, 0);
}

}  // namespace
}  // namespace qkv::project
