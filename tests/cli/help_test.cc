// What --help shows: every page fits, every example runs.
#include <gtest/gtest.h>

#include "qkv/io.h"
#include "qkv/rng.h"
#include "tests/cli/subcommands.h"

namespace qkv::test {
namespace {

// The command lines of a page's examples, as somebody would copy them.
std::vector<std::string> examples_of(const std::string& page) {
  std::vector<std::string> examples;
  bool on = false;
  for (const std::string& line : lines_of(page)) {
    if (line == "Examples:" || line == "To begin:") on = true;
    if (line.empty()) on = false;
    if (!on || !line.starts_with("    ")) continue;
    if (line.starts_with("      "))
      examples.back() += "\n" + line;
    else
      examples.push_back(line.substr(4));
  }
  return examples;
}

// Data and runs under the names that the examples use.
struct Prepared {
  TempFolder folder;
  How how{.folder = folder.path(), .environment = {{"HOME", folder.path()}}};

  Prepared() {
    std::string names, text;
    for (int i = 0; i < 60; ++i) {
      names += std::string(1, static_cast<char>('a' + i % 26)) + "nn" +
               std::string(1, static_cast<char>('a' + i * 7 % 26)) + "\n";
      text += "To be, or not to be: that is the question.\n";
    }
    write_bytes(folder / "names.txt", names);
    write_bytes(folder / "corpus.txt", text);
    write_bytes(folder / "other.txt", "that is not to be");
    std::filesystem::create_directories(folder / ".config/fish/completions");
    attention_of_8_heads();
  }

  void attention_of_8_heads() const {
    const auto numbers = [](Shape shape) {
      return Tensor::from<float>(
          shape,
          std::vector<float>(static_cast<std::size_t>(shape.numel()), 0.01F));
    };
    io::write_safetensors(folder / "W.safetensors",
                          {{"qkv.weight", numbers({192, 64})},
                           {"qkv.bias", numbers({192})},
                           {"out_proj.weight", numbers({64, 64})},
                           {"out_proj.bias", numbers({64})}});
    io::write_safetensors(folder / "X.safetensors",
                          {{"x", numbers({1, 4, 64})}});
  }

  void train(const std::string& data, const std::string& name) const {
    const bool gpt = data.find("--model") == data.npos;
    const Ran ran = run_shell(
        "qkv train " + data + " --out runs/" + name +
            (gpt ? " --steps 1 --n-layer 2 --n-head 4 --n-embd 8" : "") +
            " --block-size 32",
        how);
    ASSERT_EQ(ran.code, 0) << ran.err;
  }

  // An example, a training made short.
  void run(std::string line) const {
    if (line.starts_with("qkv train") && line.find("--dry-run") == line.npos)
      line += " --stop-at 1";
    if (line.starts_with("qkv ladder")) line += " --steps 2";
    if (line.starts_with("qkv ladder --steps"))
      line += " --lines names.txt --only counts --only gpt";
    // English words may not be installed.
    if (line.starts_with("qkv train --max-time"))
      line += " --lines names.txt --out runs/words";
    const Ran ran = run_shell(line, how);
    EXPECT_EQ(ran.code, 0) << line << "\n" << ran.err;
  }
};

TEST(Help, EveryExampleRuns) {
  for (const std::string& name : subcommands()) {
    Prepared prepared;
    if (name != "train") {
      prepared.train("--lines names.txt", "names");
      prepared.train("--lines names.txt --snapshot-attention 1", "words");
      prepared.train("--text corpus.txt", "corpus");
      prepared.train("--lines names.txt --model counts", "counts");
    }
    EXPECT_EQ(help_of(name).find("[]"), std::string::npos) << "no default";
    const auto examples = examples_of(help_of(name));
    EXPECT_FALSE(examples.empty()) << name;
    for (const std::string& line : examples) {
      EXPECT_NE(line.find("qkv " + name), line.npos) << line;
      prepared.run(line);
    }
  }
}

TEST(Help, TheFirstStepsRun) {
  Prepared prepared;
  const auto steps = examples_of(help_of(""));
  EXPECT_GE(steps.size(), 2u);
  for (const std::string& line : steps) prepared.run(line);
}

TEST(Help, NoLineIsWiderThanTheTerminal) {
  auto pages = subcommands();
  pages.push_back("");
  for (const std::string& name : pages)
    for (const int columns : {0, 40, 60, 80, 132}) {
      const int width = columns == 0 ? 80 : columns;
      const How how{
          .environment = {
              {"COLUMNS", columns == 0 ? "" : std::to_string(columns)}}};
      int widest = 0;
      for (const std::string& line : lines_of(help_of(name, how))) {
        // One word cannot be broken, nor go without its " \".
        const auto begin = std::min(line.find_first_not_of(' '), line.size());
        const auto end = line.size() - 2 * line.ends_with(" \\");
        const bool one = line.find(' ', begin) >= end;
        EXPECT_TRUE(one || std::ssize(line) <= width)
            << name << " at " << columns << ": " << line;
        widest = std::max(widest, static_cast<int>(line.size()));
      }
      if (name == "train" && columns > 80) {
        EXPECT_GT(widest, 80) << "room is used";
      }
    }
}

TEST(Help, IsTheSameByEveryWayToAsk) {
  EXPECT_EQ(run_qkv({"help", "train"}).out, run_qkv({"train", "--help"}).out);
  EXPECT_EQ(run_qkv({"train", "-h"}).out, run_qkv({"train", "--help"}).out);
  EXPECT_EQ(run_qkv({}).out, run_qkv({"--help"}).out);
  EXPECT_EQ(run_qkv({"help"}).out, run_qkv({"--help"}).out);
}

TEST(Help, TheOverviewNamesEverySubcommand) {
  const std::string overview = help_of("");
  const auto names = subcommands();
  EXPECT_GE(names.size(), 8u);
  for (const std::string& name : names)
    EXPECT_NE(overview.find("\n  " + name + " "), overview.npos) << name;
}

TEST(Help, TellsDefaultsAndChoices) {
  const std::string page =
      help_of("train", {.environment = {{"COLUMNS", "200"}}});
  for (const char* part :
       {"--beta2 X", "(default 0.99)", "--optimizer adamw|sgd", "--lines FILE",
        "shakespeare-char", "--resume RUN", "not with --overwrite"})
    EXPECT_NE(page.find(part), page.npos) << part;
}

TEST(Help, ManualPagesAreClean) {
  TempFolder folder;
  ASSERT_EQ(run_qkv({"help", "--write", folder.path()}).code, 0);
  if (run_shell("command -v groff").code != 0)
    GTEST_SKIP() << "groff is not installed";
  for (const auto& file : std::filesystem::directory_iterator(folder / "man")) {
    const std::string path = file.path().string();
    const Ran groff = run_shell("groff -man -Tutf8 -ww -z '" + path + "'");
    EXPECT_EQ(groff.code, 0);
    EXPECT_EQ(groff.err, "") << path;
    if (run_shell("command -v mandoc").code == 0) {
      const Ran lint = run_shell("mandoc -T lint -W warning '" + path + "'");
      // No date: the same sources give the same pages.
      for (const std::string& line : lines_of(lint.out))
        EXPECT_NE(line.find("missing date"), line.npos) << line;
    }
  }
  const Ran page = run_shell("groff -man -Tascii '" + folder.path() +
                             "/man/qkv-train.1' | sed 's/.\\x08//g'");
  for (const char* part : {"--grad-clip", "qkv train --resume", "EXIT STATUS"})
    EXPECT_NE(page.out.find(part), page.out.npos) << part << page.out;
}

}  // namespace
}  // namespace qkv::test
