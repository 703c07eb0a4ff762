// README and docs tell the truth: each command that they show is run, word for
// word and in order, and prints what stands there.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/docs/console.h"
#include "tests/project/shell.h"
#include "tests/support/pattern.h"

namespace qkv::docs {
namespace {

namespace fs = std::filesystem;
using project::kSource;
using test::TempFolder;

std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// An empty clone as its reader has it, built: what commands write stays here.
void lay_out_clone(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(kSource)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(".") && !name.starts_with("build") && name != "runs")
      fs::create_symlink(entry.path(), folder / name);
  }
  fs::create_symlink(QKV_BINARY_DIR, folder / "build");
}

class Document : public testing::TestWithParam<std::string> {};

TEST_P(Document, PrintsWhatItShows) {
  const fs::path document = kSource / GetParam();
  const auto steps = console_steps(test::read_bytes(document));
  const bool all = std::getenv("QKV_LONG_TESTS") != nullptr;
  TempFolder clone, out;
  lay_out_clone(clone.path());
  // One shell for the document: what a reader exports or enters stays so.
  std::ostringstream script;
  // A reader's terminal shows UTF-8, plain text where nothing draws.
  script << "export LC_ALL=C.UTF-8; unset NO_COLOR COLUMNS\ncd '"
         << clone.path() << "'\n";
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (all || !steps[i].lasting)
      script << "{ " << steps[i].command << "\n} >'" << out.path() << "/" << i
             << "' 2>&1\necho $? >'" << out.path() << "/" << i << ".status'\n";
  std::ofstream(out / "script") << script.str();
  ASSERT_EQ(project::shell("bash '" + (out / "script") + "'").status, 0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!all && steps[i].lasting) continue;
    const std::string file = out / std::to_string(i);
    const std::string where = GetParam() + ":" + std::to_string(steps[i].line) +
                              ": " + steps[i].command + "\n";
    const auto status = lines_of(file + ".status");
    ASSERT_EQ(status.size(), 1u) << where;
    EXPECT_EQ(status[0], "0") << where << test::read_bytes(file);
    EXPECT_EQ(difference(steps[i], lines_of(file)), "") << where;
  }
}

// Those that show a command.
std::vector<std::string> documents() {
  std::vector<std::string> names;
  for (const fs::path& file : project::project_files())
    if (file.extension() == ".md" &&
        !console_steps(test::read_bytes(kSource / file)).empty())
      names.push_back(file.string());
  return names;
}

// A document without its fenced blocks: a lambda looks like a link.
std::string without_code(const std::string& document) {
  std::istringstream lines(document);
  std::string text;
  bool code = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) code = !code;
    if (!code) text += line + "\n";
  }
  return text;
}

// A link within the project leads to a file; one whose text is `code` to a file
// that holds it.
TEST(Links, LeadToWhatTheyName) {
  const std::string link = R"(\[(`([^`\]]+)`|[^\]]*)\]\(([^)\s#]+)[^)]*\))";
  for (const fs::path& file : project::project_files()) {
    if (file.extension() != ".md") continue;
    const std::string text = without_code(test::read_bytes(kSource / file));
    for (const auto& match : test::all_found(text, link)) {
      const std::string &target = match[3], &code = match[2];
      if (target.find("://") != std::string::npos) continue;
      const fs::path to = kSource / file.parent_path() / target;
      ASSERT_TRUE(fs::exists(to)) << file << ": " << target;
      if (!code.empty() && fs::is_regular_file(to) && to.filename() != code) {
        EXPECT_NE(test::read_bytes(to).find(code), std::string::npos)
            << file << ": " << target << " has no " << code;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Docs, Document, testing::ValuesIn(documents()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c)))
                               c = '_';
                           return name;
                         });

}  // namespace
}  // namespace qkv::docs
