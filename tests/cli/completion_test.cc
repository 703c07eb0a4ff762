// Completion as a shell runs it.
#include <gtest/gtest.h>

#include "tests/cli/subcommands.h"

namespace qkv::test {
namespace {

struct Completion : ::testing::Test {
  TempFolder folder;
  How how{.folder = folder.path()};

  Completion() {
    for (const char* file :
         {"corpus.txt", "a.toml", "a b.txt", "model.safetensors"})
      write_bytes(folder / file, "");
    std::filesystem::create_directories(folder / "runs/words");
    write_bytes(folder / "runs/words/last.safetensors", "");
  }
  ~Completion() override = default;

  // What bash offers for the last of the words, one a line.
  std::vector<std::string> offered(const std::vector<std::string>& words) {
    std::string list;
    for (const std::string& word : words) list += " '" + word + "'";
    const Ran ran =
        run_shell("source <(qkv completion bash); COMP_WORDS=(" + list +
                      "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _qkv; "
                      "printf '%s\\n' \"${COMPREPLY[@]}\"",
                  how);
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.err, "");
    auto lines = lines_of(ran.out);
    std::erase(lines, "");
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  static bool has(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  }
};

using Words = std::vector<std::string>;

TEST_F(Completion, OfSubcommandsAndOptions) {
  EXPECT_EQ(offered({"qkv", "tr"}), Words{"train"});
  EXPECT_TRUE(has(offered({"qkv", ""}), "attend"));
  EXPECT_EQ(offered({"qkv", "--v"}), Words{"--version"});
  EXPECT_EQ(offered({"qkv", "sample", "--temp"}), Words{"--temperature"});
  EXPECT_EQ(offered({"qkv", "train", "--n-la"}), Words{"--n-layer"});
  EXPECT_EQ(offered({"qkv", "eval", "--n-l"}), Words{});
  EXPECT_EQ(offered({"qkv", "help", "att"}), Words{"attend"});
  EXPECT_EQ(offered({"qkv", "completion", ""}), (Words{"bash", "fish", "zsh"}));
}

TEST_F(Completion, OfValues) {
  EXPECT_TRUE(has(offered({"qkv", "train", "--preset", ""}), "gpt2"));
  EXPECT_EQ(offered({"qkv", "train", "--preset", "shakes"}),
            Words{"shakespeare-char"});
  EXPECT_EQ(offered({"qkv", "train", "--task", "so"}), Words{"sort"});
  EXPECT_EQ(offered({"qkv", "train", "--optimizer", "=", "s"}), Words{"sgd"});
  EXPECT_EQ(offered({"qkv", "train", "--optimizer", "="}),
            (Words{"adamw", "sgd"}));
  EXPECT_EQ(offered({"qkv", "attend", "--stage", ""}),
            (Words{"raw", "scaled", "weights"}));
  EXPECT_EQ(offered({"qkv", "layer", "--mask", "w"}), Words{"window:"});
  EXPECT_EQ(offered({"qkv", "train", "--steps", ""}), Words{})
      << "a number nobody can guess";
}

TEST_F(Completion, OfFilesAndRuns) {
  EXPECT_EQ(offered({"qkv", "train", "--text", "c"}), Words{"corpus.txt"});
  EXPECT_EQ(offered({"qkv", "train", "--text", "a "}), Words{"a b.txt"});
  EXPECT_EQ(offered({"qkv", "sample", "x", "--config", "a"}), Words{"a.toml"});
  EXPECT_EQ(offered({"qkv", "train", "--out", "r"}), Words{"runs"});
  EXPECT_EQ(offered({"qkv", "sample", "runs/w"}), Words{"runs/words"});
  EXPECT_EQ(offered({"qkv", "sample", ""}),
            (Words{"model.safetensors", "runs", "runs/words"}));
}

TEST_F(Completion, ZshAndFishReadTheirScripts) {
  int shells = 0;
  if (run_shell("command -v zsh").code == 0) {
    ++shells;
    // Loaded as zsh would, from a folder of its fpath.
    const Ran ran = run_shell(
        "qkv completion zsh > _qkv && zsh -n _qkv && zsh -f -c 'fpath=($PWD "
        "$fpath); autoload -Uz compinit && compinit -u -D; "
        "print $_comps[qkv]'",
        how);
    EXPECT_EQ(ran.out, "_qkv\n") << ran.err;
    EXPECT_EQ(ran.err, "");
  }
  if (run_shell("command -v fish").code == 0) {
    ++shells;
    How alone = how;
    alone.environment = {{"HOME", folder.path()}};
    const auto offered = [&](const std::string& line) {
      const Ran ran = run_shell(
          "qkv completion fish > qkv.fish && fish --no-config -c 'source "
          "qkv.fish; complete -C \"" +
              line + "\"'",
          alone);
      EXPECT_EQ(ran.err, "");
      return ran.out;
    };
    EXPECT_TRUE(offered("qkv tr").starts_with("train\t"));
    EXPECT_TRUE(
        offered("qkv train --preset shakes").starts_with("shakespeare-char"));
    EXPECT_NE(offered("qkv sample --temp").find("--temperature"),
              std::string::npos);
    EXPECT_EQ(offered("qkv eval --n-l"), "");
  }
  if (shells == 0) GTEST_SKIP() << "neither zsh nor fish is installed";
}

}  // namespace
}  // namespace qkv::test
