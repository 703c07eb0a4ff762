// What a terminal is shown, and what goes elsewhere.
#include <gtest/gtest.h>

#include "tests/cli/subcommands.h"

namespace qkv::test {
namespace {

constexpr const char* kErase = "\r\033[2K";

std::vector<std::string> tiny(const std::string& out,
                              std::vector<std::string> more = {}) {
  std::vector<std::string> words{
      "train",  "--task",     "sort", "--out",     out, "--n-layer",
      "1",      "--n-head",   "1",    "--n-embd",  "4", "--steps",
      "100000", "--max-time", "0.5s", "--threads", "1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The live lines of a training, as they were drawn one over the other.
std::vector<std::string> drawn(const std::string& err) {
  std::vector<std::string> lines;
  std::size_t at = err.find(kErase);
  while (at != err.npos) {
    at += std::string_view(kErase).size();
    const auto end = err.find_first_of("\r\n", at);
    const std::string line = err.substr(at, end - at);
    // What is printed over an erased line ends with a break.
    if (!line.empty() && end != err.npos && err[end] == '\r')
      lines.push_back(line);
    at = err.find(kErase, at);
  }
  return lines;
}

How terminal(int columns, std::map<std::string, std::string> environment = {}) {
  How how{.terminal = columns};
  how.environment = {{"TERM", "xterm"}, {"NO_COLOR", ""}, {"COLUMNS", ""}};
  for (const auto& [name, value] : environment) how.environment[name] = value;
  return how;
}

void expect_width(const std::vector<std::string>& lines, int least, int most) {
  ASSERT_GT(lines.size(), 1u);
  for (const std::string& line : lines) {
    EXPECT_LT(std::ssize(line), most) << line;
    EXPECT_GE(std::ssize(line), least) << line;
  }
}

TEST(Terminal, ALiveLineFitsTheWidth) {
  for (const auto& [columns, least] :
       {std::pair(20, 5), {40, 20}, {80, 50}, {200, 100}}) {
    TempFolder folder;
    const Ran ran = run_qkv(tiny(folder / "run"), terminal(columns));
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.out, "");
    expect_width(drawn(ran.err), least, columns);
  }
}

TEST(Terminal, COLUMNSComesBeforeTheWidthOfTheWindow) {
  TempFolder folder;
  const Ran ran =
      run_qkv(tiny(folder / "run"), terminal(200, {{"COLUMNS", "50"}}));
  expect_width(drawn(ran.err), 30, 50);
}

TEST(Terminal, ALiveLineFollowsTheWindow) {
  TempFolder folder;
  How how = terminal(120);
  how.resized = 30;
  how.resized_after = "ETA";
  const Ran ran = run_qkv(tiny(folder / "run", {"--max-time", "1s"}), how);
  const auto lines = drawn(ran.err);
  ASSERT_GT(lines.size(), 3u);
  EXPECT_GT(std::ssize(lines.front()), 60);
  EXPECT_LT(std::ssize(lines.back()), 30);
}

// A pipe, a file, TERM=dumb: lines that end, and nothing else.
TEST(Terminal, ElsewhereLinesArePlain) {
  const auto plain = [](const Ran& ran) {
    EXPECT_EQ(ran.code, 0);
    EXPECT_NE(ran.err.find("step 0: train loss"), std::string::npos);
    EXPECT_EQ(ran.err.find('\r'), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find('\033'), std::string::npos) << ran.err;
  };
  TempFolder folder;
  plain(run_qkv(tiny(folder / "a"), {.environment = {{"TERM", "xterm"}}}));
  plain(run_qkv(tiny(folder / "b"), terminal(80, {{"TERM", "dumb"}})));
}

TEST(Terminal, QuietDrawsNothing) {
  TempFolder folder;
  const Ran ran = run_qkv(tiny(folder / "run", {"--quiet"}), terminal(80));
  EXPECT_TRUE(drawn(ran.err).empty()) << ran.err;
}

TEST(Terminal, ColoursAreForTerminalsThatWantThem) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "run", {"--stop-at", "1"})).code, 0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"help", "train"},
        {"attend", folder / "run", "--prompt", "0120"}}) {
    const auto coloured = [&](const How& how) {
      const Ran ran = run_qkv(words, how);
      EXPECT_EQ(ran.code, 0) << ran.err;
      return ran.out.find("\033[") != std::string::npos;
    };
    EXPECT_TRUE(coloured(terminal(80)));
    EXPECT_FALSE(coloured(terminal(80, {{"NO_COLOR", "1"}})));
    EXPECT_FALSE(coloured(terminal(80, {{"TERM", "dumb"}})));
    EXPECT_FALSE(coloured({.environment = {{"TERM", "xterm"}}}));
  }
}

TEST(Terminal, APlainLocaleGetsASCII) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "run", {"--stop-at", "1"})).code, 0);
  const auto plain = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<signed char>(c) >= 0; });
  };
  std::vector<std::vector<std::string>> lines{
      {},
      tiny(folder / "other", {"--steps", "3"}),
      tiny(folder / "other", {"--dry-run"}),
      {"info"},
      {"info", folder / "run"},
      {"eval", folder / "run"},
      {"sample", folder / "run"},
      {"attend", folder / "run", "--prompt", "0120"},
      {"attend", folder / "run", "--prompt", "0120", "--layer", "0", "--head",
       "0"},
      {"attend", folder / "run", "--prompt", "0120", "--steps"}};
  for (const std::string& name : subcommands()) lines.push_back({"help", name});
  for (const char* locale : {"C", "POSIX", "de_DE.ISO-8859-1"})
    for (const int columns : {0, 80})
      for (const auto& line : lines) {
        How how = terminal(columns, {{"LC_ALL", locale}, {"LANG", "C.UTF-8"}});
        const Ran ran = run_qkv(line, how);
        EXPECT_TRUE(plain(ran.out)) << ran.out;
        EXPECT_TRUE(plain(ran.err)) << ran.err;
        std::filesystem::remove_all(folder / "other");
      }
  for (const char* option : {"--steps", "--layer=0"}) {
    const Ran ran =
        run_qkv({"attend", folder / "run", "--prompt", "0120", option},
                terminal(0, {{"LC_ALL", "C.UTF-8"}}));
    EXPECT_FALSE(plain(ran.out)) << "decorations where they can be shown";
  }
}

// Nothing to write to is a failure to write; a reader that has seen enough is
// none.
TEST(Terminal, AStandardOutputThatIsClosed) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "run", {"--stop-at", "1"})).code, 0);
  for (const std::string& line :
       {std::string("help"), std::string("help train"),
        std::string("completion bash"), std::string("info"),
        "info " + folder / "run", "eval " + folder / "run",
        "sample " + folder / "run",
        "attend " + folder / "run" + " --prompt 0120"}) {
    EXPECT_EQ(run_shell("qkv " + line + " >&-").code, 3) << line;
    EXPECT_EQ(run_shell("qkv " + line + " | true; exit ${PIPESTATUS[0]}").code,
              0)
        << line;
  }
}

}  // namespace
}  // namespace qkv::test
