// --config FILE.toml: command line over file over preset, and what is refused.
#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/cli/subcommands.h"

namespace qkv::test {
namespace {

struct ConfigFile : ::testing::Test {
  TempFolder folder;
  std::string run = folder / "run";
  ~ConfigFile() override = default;

  void train() {
    const Ran ran =
        run_qkv({"train", "--task", "sort", "--n-layer", "1", "--n-head", "1",
                 "--n-embd", "4", "--steps", "1", "--out", run});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  std::string file(std::string_view toml) {
    return write_bytes(folder / "c.toml", toml);
  }
  void refused(const std::vector<std::string>& words,
               const std::vector<std::string>& parts) {
    const Ran ran = run_qkv(words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    for (const std::string& part : parts)
      EXPECT_NE(ran.err.find(part), std::string::npos)
          << "lacks '" << part << "': " << ran.err;
  }
};

TEST_F(ConfigFile, GivesOptionsThatTheCommandLineDoesNot) {
  train();
  const std::string c = file(
      "[sample]\ncount = 3\ntemperature = 0.5\njson = true\nprompt = '012'\n"
      "[train]\nlr = 0.1\n");
  const auto lines = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"sample", run, "--config", c});
    const Ran ran = run_qkv(more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::vector<nlohmann::json> lines;
    for (const std::string& line : lines_of(ran.out))
      lines.push_back(nlohmann::json::parse(line));
    return lines;
  };
  const auto of_file = lines({});
  ASSERT_EQ(of_file.size(), 3u);
  EXPECT_TRUE(of_file[0]["text"].get<std::string>().starts_with("012"));
  EXPECT_EQ(lines({"--count", "2"}).size(), 2u);
  EXPECT_TRUE(
      lines({"--prompt=21"})[0]["text"].get<std::string>().starts_with("21"));
}

// What a subcommand cannot do without may be there as well.
TEST_F(ConfigFile, GivesOptionsThatAreNeeded) {
  train();
  const std::string c = file("[attend]\nprompt = '012'\nstage = 'raw'\n");
  EXPECT_EQ(run_qkv({"attend", run, "--config", c}).code, 0);
  EXPECT_EQ(run_qkv({"attend", run, "--config=" + c, "--layer", "0"}).code, 0);
  EXPECT_EQ(run_qkv({"attend", run}).code, 2);
}

TEST_F(ConfigFile, EverySubcommandThatComputesTakesOne) {
  for (const std::string& name : subcommands()) {
    const bool computes = name != "help" && name != "completion";
    EXPECT_EQ(help_of(name).find("--config FILE.toml") != std::string::npos,
              computes)
        << name;
  }
}

TEST_F(ConfigFile, ATrainingComesFromCommandLineOverFileOverPreset) {
  const std::string c = file(
      "preset = 'makemore'\n[data]\ntask = 'copy'\n"
      "[model]\nn_layer = 1\nn_head = 1\nn_embd = 8\n"
      "[train]\nlr = 0.25\nsteps = 4\neval_every = 2\n[run]\nstop_at = 2\nout "
      "= "
      "'" +
      run + "'\n[sample]\ncount = 1\n");
  const Ran ran = run_qkv({"train", "--config", c, "--lr", "0.125", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto end = nlohmann::json::parse(ran.out);
  EXPECT_EQ(end["run"], run);
  EXPECT_EQ(end["step"], 2);
  EXPECT_EQ(end["end"], "stopped");
  const auto info = nlohmann::json::parse(run_qkv({"info", run, "--json"}).out);
  EXPECT_EQ(info["train"]["lr"], 0.125) << "the command line's";
  EXPECT_EQ(info["train"]["eval_every"], 2) << "the file's";
  EXPECT_EQ(info["train"]["weight_decay"], 0.01) << "the preset's";
  EXPECT_EQ(info["config"]["n_embd"], 8);
}

TEST_F(ConfigFile, RefusesWhatItDoesNotKnow) {
  train();
  const auto sample = [&](std::string_view toml) {
    return std::vector<std::string>{"sample", run, "--config", file(toml)};
  };
  refused(sample("[sample]\ntemprature = 1\n"),
          {"c.toml: [sample]", "temprature", "did you mean 'temperature'"});
  refused(sample("[sampel]\ncount = 1\n"),
          {"c.toml", "sampel", "did you mean 'sample'"});
  refused(sample("[train]\nlr = 1\n"), {"c.toml", "[sample]"});
  refused(sample("[sample]\njson = 'yes'\n"),
          {"c.toml: [sample]", "json", "true or false"});
  refused(sample("[sample]\ncount = -7\n"), {"c.toml: [sample]: ", "--count"});
  refused(sample("[sample]\ntemperature = -1\n"),
          {"c.toml: [sample]: ", "--temperature"});
  refused(sample("[sample]\nprompt = {a = 1}\n"),
          {"c.toml: [sample]", "prompt"});
  refused(sample("[sample]\nconfig = 'c.toml'\n"),
          {"c.toml: [sample]", "config"});
  refused(sample("sample = 5\n"), {"c.toml: [sample]", "section"});
  refused({"sample", run, "--config", folder / "absent.toml"}, {"absent.toml"});
  // A wrong value on the command line is not the file's.
  const Ran ran = run_qkv({"sample", run, "--config",
                           file("[sample]\ncount = 1\n"), "--count", "-7"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err.find("c.toml"), std::string::npos) << ran.err;
}

TEST_F(ConfigFile, ADryRunAndALayerSpeakJSON) {
  const Ran dry = run_qkv({"train", "--preset", "gpt2", "--dry-run", "--json"});
  ASSERT_EQ(dry.code, 0) << dry.err;
  EXPECT_EQ(nlohmann::json::parse(dry.out)["parameters"], 124439808);
}

TEST_F(ConfigFile, AListGivesAnOptionSeveralTimes) {
  TempFolder folder;
  const std::string file = write_bytes(
      folder / "c.toml", "[attend]\nprompt = [\"ab\", \"cd\"]\nlayer = 0\n");
  const std::string model = QKV_SOURCE_DIR "/docs/models/words.safetensors";
  const Ran ran = run_qkv({"attend", model, "--config", file, "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("\"a\""), std::string::npos);
  EXPECT_NE(ran.out.find("\"d\""), std::string::npos);
  write_bytes(folder / "c.toml", "[attend]\nprompt = \"ab\"\nlayer = [0]\n");
  const Ran refused = run_qkv({"attend", model, "--config", file});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("layer must be one value, not a list"),
            std::string::npos)
      << refused.err;
}

}  // namespace
}  // namespace qkv::test
