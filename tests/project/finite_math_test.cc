// NaN and infinity keep their meaning in what is shipped: no flag anywhere
// that lets the compiler assume them away, none that flushes denormals.
#include <gtest/gtest.h>
#include <immintrin.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/project/shell.h"

namespace qkv::project {
namespace {

static_assert(__FINITE_MATH_ONLY__ == 0);

// Split, so that this file does not hold what it looks for.
const std::string kForbidden[] = {
    std::string("-march=") + "native",
    std::string("-mtune=") + "native",
    std::string("-ffast") + "-math",
    std::string("-Of") + "ast",
    std::string("-ffinite") + "-math",
    std::string("-funsafe") + "-math",
    std::string("-fassociative") + "-math",
    std::string("-freciprocal") + "-math",
};

TEST(FiniteMath, NoCompileCommandAllowsFastMath) {
  const std::string commands =
      read_bytes(fs::path(QKV_BINARY_DIR) / "compile_commands.json");
  ASSERT_NE(commands.find("finite_math_test.cc"), std::string::npos);
  for (const std::string& flag : kForbidden)
    EXPECT_EQ(commands.find(flag), std::string::npos) << flag;
}

TEST(FiniteMath, NoFileNamesSuchAFlag) {
  for (const fs::path& file : project_files()) {
    if (file.extension() == ".md") continue;
    const std::string text = read_bytes(kSource / file);
    for (const std::string& flag : kForbidden)
      EXPECT_EQ(text.find(flag), std::string::npos) << file << ": " << flag;
  }
}

// Read through volatile, so that the answer is computed when the test runs.
TEST(FiniteMath, NanAndInfinityAreSeenAtRunTime) {
  volatile float zero = 0;
  const float nan = zero / zero;
  const float infinity = 1 / zero;
  EXPECT_TRUE(std::isnan(nan));
  EXPECT_FALSE(std::isfinite(nan));
  EXPECT_FALSE(nan == nan);
  EXPECT_TRUE(std::isinf(infinity));
}

// Fast math at the link would set both bits before main.
TEST(FiniteMath, DenormalsAreKept) {
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  EXPECT_EQ(_mm_getcsr() & (kFlushToZero | kDenormalsAreZero), 0u);
  volatile float smallest = std::numeric_limits<float>::min();
  EXPECT_GT(smallest / 2, 0.0f);
}

}  // namespace
}  // namespace qkv::project
