// What others build on: the installed tree, tried by a project of its own.
#include <gtest/gtest.h>

#include "qkv/version.h"
#include "tests/project/shell.h"

namespace qkv::project {
namespace {

const std::string kSanitize =
    *QKV_SANITIZE != '\0' ? std::string("-fsanitize=") + QKV_SANITIZE : "";

// The build installed below a folder of its own, once for all tests here.
class Package : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder;
    const Result result =
        shell("'" CMAKE_COMMAND "' --install '" + std::string(QKV_BINARY_DIR) +
              "' --prefix '" + prefix() + "'");
    ASSERT_EQ(result.status, 0) << result.output;
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string prefix() { return *folder_ / "installed"; }
  static std::string folder(const char* name) { return *folder_ / name; }

  // What consumer prints must come from the installed library.
  static void expect_runs(const std::string& program) {
    const Result result = shell("'" + program + "'");
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.output,
              std::string("qkv ") + kVersion +
                  "\n"
                  "gradient (1,10,64)\n"
                  "error [MultiHeadSelfAttention] embed_dim "
                  "must be divisible by num_heads, and 64 is not by 7\n"
                  "layers 3\n"
                  "tokens 5\n");
    const Result libraries = shell("ldd '" + program + "'");
    EXPECT_NE(libraries.output.find(prefix()), std::string::npos)
        << libraries.output;
  }

  static TempFolder* folder_;
};
TempFolder* Package::folder_ = nullptr;

TEST_F(Package, IsFoundByCMake) {
  const std::string build = folder("by-cmake");
  const Result result = shell(
      "'" CMAKE_COMMAND "' -G Ninja -S '" +
      (kSource / "tests/consumer").string() + "' -B '" + build +
      "' -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER='" + CXX_COMPILER +
      "' -DCMAKE_CXX_FLAGS='-Wall -Wextra -Wpedantic -Werror " + kSanitize +
      "' -DCMAKE_PREFIX_PATH='" + prefix() + "' && '" + CMAKE_COMMAND +
      "' --build '" + build + "'");
  ASSERT_EQ(result.status, 0) << result.output;
  expect_runs(build + "/consumer");
}

TEST_F(Package, IsRefusedWhereAnotherVersionIsWanted) {
  const std::string source = folder("other-version");
  write(source + "/CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.25)\nproject(other LANGUAGES NONE)\n"
        "find_package(qkv 0.2 REQUIRED)\n");
  const Result result =
      shell("'" CMAKE_COMMAND "' -G Ninja -S '" + source + "' -B '" + source +
            "/build' -DCMAKE_PREFIX_PATH='" + prefix() + "'");
  EXPECT_NE(result.status, 0);
  EXPECT_NE(result.output.find(std::string("version: ") + kVersion),
            std::string::npos)
      << result.output;
}

TEST_F(Package, IsFoundByPkgConfig) {
  const std::string program = folder("by-pkg-config");
  const std::string find = "export PKG_CONFIG_PATH=$(find '" + prefix() +
                           "' -name qkv.pc -printf %h); ";
  Result result = shell(find + "pkg-config --modversion qkv");
  EXPECT_EQ(result.output, std::string(kVersion) + "\n");
  result = shell(find + "'" CXX_COMPILER "' -std=c++20 " + kSanitize + " '" +
                 (kSource / "tests/consumer/main.cc").string() +
                 "' $(pkg-config --cflags --libs qkv) -o " + program +
                 " -Wl,-rpath,$(pkg-config --variable=libdir qkv)");
  ASSERT_EQ(result.status, 0) << result.output;
  expect_runs(program);
}

TEST_F(Package, HoldsTheProgramAndEveryPublicHeader) {
  const Result version = shell("'" + prefix() + "/bin/qkv' --version");
  EXPECT_TRUE(version.output.starts_with(std::string("qkv ") + kVersion + "\n"))
      << version.output;
  const Result difference =
      shell("diff -r '" + (kSource / "include/qkv").string() + "' '" +
            prefix() + "/include/qkv'");
  EXPECT_EQ(difference.output, "");
}

}  // namespace
}  // namespace qkv::project
