// The API reference, where Doxygen is installed.
#include <gtest/gtest.h>

#include "tests/project/shell.h"

namespace qkv::project {
namespace {

TEST(Reference, IsMadeWithoutAWarningAndHoldsTheComments) {
  if (shell("command -v doxygen").status != 0)
    GTEST_SKIP() << "doxygen is not installed: script/bootstrap docs";
  TempFolder folder;
  const Result result = shell("'" + (kSource / "script/docs").string() + "' '" +
                              folder.path() + "'");
  ASSERT_EQ(result.status, 0) << result.output;
  EXPECT_EQ(result.output, folder / "html/index.html\n");

  // Before a declaration, behind it, going on behind it, and of the file.
  const auto page = [&](const char* name) {
    return read_bytes(folder / ("html/" + std::string(name)));
  };
  EXPECT_NE(page("ops_8h.html").find("a (…,M,K), b (…,K,N) -&gt; (…,M,N)"),
            std::string::npos);
  EXPECT_NE(page("ops_8h.html").find("Differentiable operations."),
            std::string::npos);
  EXPECT_NE(page("structqkv_1_1Loss.html").find("targets that count"),
            std::string::npos);
  EXPECT_NE(page("structqkv_1_1generate_1_1Request.html")
                .find("only ids below are chosen"),
            std::string::npos);
}

}  // namespace
}  // namespace qkv::project
