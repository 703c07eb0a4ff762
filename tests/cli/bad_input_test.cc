// Bad input: one line on stderr that names what is wrong, exit code 2 (3 for
// writing), nothing left behind.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "tests/cli/refused.h"
#include "tests/support/files.h"
#include "tests/support/program.h"

namespace qkv::test {
namespace {

struct BadInput : ::testing::Test {
  TempFolder folder;
  Ran train(std::vector<std::string> more) {
    std::vector<std::string> all{"train", "--out", folder / "run", "--steps",
                                 "3"};
    all.insert(all.end(), more.begin(), more.end());
    return run_qkv(all);
  }
  void nothing_trained() {
    EXPECT_FALSE(std::filesystem::exists(folder / "run/last.safetensors"));
  }
  ~BadInput() override = default;
};

TEST_F(BadInput, OptionsAndSubcommands) {
  expect_refused(run_qkv({"trian"}), 2, {"trian", "did you mean 'train'"});
  expect_refused(run_qkv({"train", "--n-layers", "3"}), 2,
                 {"--n-layers", "did you mean '--n-layer'"});
  expect_refused(train({"--n-layer", "three"}), 2, {"--n-layer", "three"});
  expect_refused(train({"--n-layer", "-1"}), 2, {"--n-layer", "-1"});
  expect_refused(train({"--lr", "nan"}), 2, {"--lr", "nan"});
  expect_refused(train({"--lr", "0"}), 2, {"--lr", "0"});
  expect_refused(train({"--batch-size", "0"}), 2, {"--batch-size", "0"});
  expect_refused(train({"--dropout", "1"}), 2, {"--dropout", "1"});
  expect_refused(train({"--activation", "swish"}), 2,
                 {"--activation", "swish", "gelu-tanh"});
  expect_refused(train({"--preset", "gtp2"}), 2, {"gtp2", "gpt2"});
  expect_refused(train({"--model", "gtp"}), 2, {"gtp", "gpt"});
  expect_refused(train({"--task", "sort", "--max-time", "soon"}), 2,
                 {"--max-time", "soon"});
  expect_refused(train({"--task", "sorting"}), 2, {"sorting", "sort"});
  expect_refused(train({"--task", "sort", "--stop-at", "-5"}), 2,
                 {"--stop-at", "-5"});
  expect_refused(train({"--task", "sort", "--sample-every", "-5"}), 2,
                 {"--sample-every", "-5"});
  expect_refused(train({"--text", "a\xFF.txt"}), 2, {"--text", "UTF-8"});
  expect_refused(train({"--overwrite", "--resume", "x"}), 2,
                 {"--overwrite", "--resume"});
  nothing_trained();
}

// One mechanism for every kind of name.
TEST_F(BadInput, AMisspeltNameIsToldTheNearest) {
  const auto meant = [](const std::string& name) {
    return "did you mean '" + name + "'?";
  };
  expect_refused(run_qkv({"atend"}), 2, {"atend", meant("attend")});
  expect_refused(run_qkv({"help", "sampel"}), 2, {"sampel", meant("sample")});
  expect_refused(train({"--stepz=5"}), 2, {"'--stepz'", meant("--steps")});
  expect_refused(train({"-steps", "5"}), 2, {"'-steps'", meant("--steps")});
  expect_refused(train({"-lr=5"}), 2, {"'-lr'", meant("--lr")});
  expect_refused(run_qkv({"attend", "run", "-head", "2"}), 2,
                 {"'-head'", meant("--head")});
  expect_refused(run_qkv({"sample", "run", "--temp", "1"}), 2,
                 {"'--temp'", meant("--temperature")});
  expect_refused(train({"--preset", "gtp2"}), 2, {meant("gpt2")});
  expect_refused(train({"--model", "gtp"}), 2, {meant("gpt")});
  expect_refused(train({"--task", "sorted"}), 2, {meant("sort")});
  expect_refused(train({"--task", "sort", "--activation", "gelu-tan"}), 2,
                 {"--activation", meant("gelu-tanh")});
  expect_refused(run_qkv({"eval", "run", "--split", "valid"}), 2,
                 {"--split", meant("validation")});
  expect_refused(
      run_qkv({"attend", "run", "--prompt", "a", "--stage", "weight"}), 2,
      {"--stage", meant("weights")});
  expect_refused(run_qkv({"completion", "bsh"}), 2, {meant("bash")});
  // What resembles nothing is told so.
  const Ran ran = run_qkv({"sample", "run", "--frobnicate"});
  expect_refused(ran, 2, {"--frobnicate", "qkv sample --help"});
  EXPECT_EQ(ran.err.find("did you mean"), std::string::npos) << ran.err;
}

TEST_F(BadInput, AnOptionOfAnotherSubcommandIsToldWhose) {
  expect_refused(train({"--temperature", "1"}), 2,
                 {"--temperature", "qkv sample", "qkv train"});
  expect_refused(train({"--stage=raw"}), 2, {"--stage", "qkv attend"});
  expect_refused(run_qkv({"eval", "run", "--dry-run"}), 2,
                 {"--dry-run", "qkv train"});
  // A word that is the value of an option is no option.
  expect_refused(run_qkv({"attend", "run", "--prompt", "-head"}), 2,
                 {"run: cannot open"});
}

TEST_F(BadInput, WhatIsMissingIsNamed) {
  expect_refused(run_qkv({"sample"}), 2, {"RUN", "qkv sample --help"});
  expect_refused(run_qkv({"attend", "run"}), 2, {"--prompt"});
  expect_refused(train({"--lr"}), 2, {"--lr needs a value"});
  expect_refused(run_qkv({"sample", "a", "b"}), 2, {"'b'", "one argument"});
  expect_refused(run_qkv({"--steps", "train"}), 2, {"--steps", "--help"});
}

TEST_F(BadInput, WholeNumbersAreWrittenInFull) {
  for (const char* value : {"", "0x10", "010", " 3", "3.0", "1e3", "three",
                            "99999999999999999999"}) {
    for (const char* option : {"--stop-at", "--sample-every", "--threads"})
      expect_refused(train({"--task", "sort", option, value}), 2,
                     {option, value});
    for (const char* option : {"--count", "--tokens", "--seed", "--threads"})
      expect_refused(run_qkv({"sample", "run", option, value}), 2,
                     {option, value});
    for (const char* option : {"--layer", "--head", "--threads"})
      expect_refused(run_qkv({"attend", "run", "--prompt", "a", option, value}),
                     2, {option, value});
    expect_refused(run_qkv({"eval", "run", "--batch-size", value}), 2,
                   {"--batch-size", value});
    expect_refused(run_qkv({"layer", "--weights", "w", "--input", "x",
                            "--output", "y", "--heads", value}),
                   2, {"--heads", value});
  }
  expect_refused(train({"--task", "sort", "--stop-at", "-5"}), 2,
                 {"--stop-at", "-5"});
  expect_refused(train({"--task", "sort", "--sample-every", "-5"}), 2,
                 {"--sample-every", "-5"});
  expect_refused(run_qkv({"sample", "run", "--count", "-7"}), 2,
                 {"--count", "-7"});
  nothing_trained();
}

// --resume "$RUN" with RUN unset would begin another run.
TEST_F(BadInput, AnEmptyValueIsNotTheDefault) {
  for (const char* option : {"--resume", "--out", "--text", "--lines",
                             "--config", "--max-time", "--dropout", "--preset"})
    expect_refused(train({option, ""}), 2, {option, "empty"});
  expect_refused(run_qkv({"info", ""}), 2, {"PATH", "empty"});
  expect_refused(run_qkv({"eval", "run", "--text", ""}), 2,
                 {"--text", "empty"});
  expect_refused(run_qkv({"attend", "run", "--prompt", "a", "-o", ""}), 2,
                 {"--output", "empty"});
  nothing_trained();
}

TEST_F(BadInput, OptionsThatExcludeEachOther) {
  expect_refused(
      run_qkv({"attend", "run", "--prompt", "a", "--steps", "--json"}), 2,
      {"--steps", "--json"});
  expect_refused(
      run_qkv({"attend", "run", "--prompt", "a", "--json", "-o", "a.svg"}), 2,
      {"--json", "--output"});
  expect_refused(run_qkv({"eval", "run", "--text", "a", "--split", "train"}), 2,
                 {"--text", "--split"});
}

TEST_F(BadInput, AnErrorIsOneLineWhateverIsNamed) {
  expect_refused(run_qkv({"sample", "two\nlines"}), 2, {"two\\x0alines"});
  expect_refused(run_qkv({"info", "red\x1b[31m"}), 2, {"red\\x1b[31m"});
  expect_refused(run_qkv({"in\nfo"}), 2, {"in\\x0afo"});
}

TEST_F(BadInput, ASubcommandAfterTwoDashes) {
  EXPECT_NE(run_qkv({"--", "info"}).code, 1);
}

TEST_F(BadInput, ModelsThatCannotBe) {
  expect_refused(train({"--task", "sort", "--n-head", "5", "--n-embd", "48"}),
                 2, {"n_head", "5", "48"});
  expect_refused(train({"--task", "sort", "--block-size", "4"}), 2,
                 {"block_size", "4", "14"});
  expect_refused(train({"--task", "sort", "--warmup-steps", "50"}), 2,
                 {"warmup_steps", "50", "3"});
  nothing_trained();
}

TEST_F(BadInput, Texts) {
  const auto text = [&](std::string_view bytes) {
    return train(
        {"--text", write_bytes(folder / "t.txt", bytes), "--block-size", "8"});
  };
  expect_refused(text(""), 2, {"t.txt", "empty"});
  expect_refused(text("abcde"), 2, {"t.txt", "5", "9"});
  expect_refused(text(std::string_view("a\0b", 3)), 2, {"t.txt"});
  expect_refused(text("caf\xE9 au lait, encore et encore et encore"), 2,
                 {"t.txt", "UTF-8"});
  expect_refused(text("\xFF\xFE"
                      "a"),
                 2, {"t.txt", "UTF-16"});
  expect_refused(train({"--text", folder / "absent.txt"}), 2, {"absent.txt"});
  expect_refused(train({"--text", folder.path()}), 2,
                 {folder.path(), "directory"});
  mkfifo((folder / "pipe").c_str(), 0600);
  expect_refused(train({"--text", folder / "pipe"}), 2, {"pipe"});
  expect_refused(train({"--text", "/dev/null"}), 2, {"/dev/null"});
  expect_refused(train({"--lines", write_bytes(folder / "l.txt", "\n \n\n")}),
                 2, {"l.txt"});
  nothing_trained();
}

TEST_F(BadInput, RunsAndCheckpoints) {
  for (const char* command : {"sample", "eval", "info"})
    expect_refused(run_qkv({command, folder / "nowhere"}), 2, {"nowhere"});
  expect_refused(run_qkv({"sample", folder.path()}), 2,
                 {folder.path(), "safetensors"});
  write_bytes(folder / "html.safetensors", "<!DOCTYPE html><html></html>");
  expect_refused(run_qkv({"sample", folder / "html.safetensors"}), 2,
                 {"html.safetensors"});
  write_bytes(folder / "short.safetensors", "\x10\0\0\0\0\0\0\0{\"a\"");
  expect_refused(run_qkv({"info", folder / "short.safetensors"}), 2,
                 {"short.safetensors"});
}

TEST_F(BadInput, EveryTruncationOfACheckpointIsRefused) {
  ASSERT_EQ(train({"--task", "sort", "--n-layer", "1", "--n-head", "1",
                   "--n-embd", "4"})
                .code,
            0);
  const std::string whole = read_bytes(folder / "run/last.safetensors");
  for (std::size_t part : {1, 2, 3, 5, 7}) {
    const std::size_t size = whole.size() * part / 8;
    write_bytes(folder / "cut.safetensors",
                std::string_view(whole).substr(0, size));
    expect_refused(run_qkv({"sample", folder / "cut.safetensors"}), 2,
                   {"cut.safetensors"});
  }
  write_bytes(folder / "long.safetensors", whole + "x");
  expect_refused(run_qkv({"sample", folder / "long.safetensors"}), 2,
                 {"long.safetensors"});
  // One flipped bit in the numbers.
  std::string flipped = whole;
  flipped[whole.size() - 5] ^= 4;
  write_bytes(folder / "flipped.safetensors", flipped);
  expect_refused(run_qkv({"train", "--resume", folder / "flipped.safetensors"}),
                 2, {"flipped.safetensors", "checksum"});
}

TEST_F(BadInput, SamplingAndPrompts) {
  ASSERT_EQ(train({"--task", "sort", "--n-layer", "1", "--n-head", "1",
                   "--n-embd", "4"})
                .code,
            0);
  const std::string run = folder / "run";
  expect_refused(run_qkv({"sample", run, "--temperature", "-1"}), 2,
                 {"--temperature", "-1"});
  expect_refused(run_qkv({"sample", run, "--temperature", "nan"}), 2,
                 {"--temperature", "nan"});
  expect_refused(run_qkv({"sample", run, "--top-k", "-1"}), 2,
                 {"--top-k", "-1"});
  expect_refused(run_qkv({"sample", run, "--top-p", "0"}), 2, {"--top-p", "0"});
  expect_refused(run_qkv({"sample", run, "--prompt", "12\u00e9"}), 2,
                 {"--prompt", "U+00E9"});
  expect_refused(run_qkv({"sample", run, "--count", "-3"}), 2,
                 {"--count", "-3"});
  expect_refused(run_qkv({"sample", run, "--tokens", "-3"}), 2,
                 {"--tokens", "-3"});
  expect_refused(run_qkv({"attend", run, "--prompt", "12", "--layer", "7"}), 2,
                 {"layer 7"});
  expect_refused(run_qkv({"attend", run, "--prompt", "12", "--head", "7"}), 2,
                 {"head 7"});
  expect_refused(run_qkv({"attend", run, "--prompt", "12", "-o", "x.pdf"}), 2,
                 {"x.pdf"});
  expect_refused(
      run_qkv({"attend", run, "--prompt", "12", "--stage", "cooked"}), 2,
      {"cooked"});
  // What would be left undone is refused.
  const auto attend = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"attend", run, "--prompt", "12"});
    return run_qkv(more);
  };
  expect_refused(attend({"--json", "-o", "x.svg"}), 2, {"--json", "--output"});
  expect_refused(attend({"--steps", "-o", "x.svg"}), 2,
                 {"--steps", "--output"});
  expect_refused(attend({"--steps", "--stage", "raw"}), 2,
                 {"--steps", "--stage"});
}

TEST_F(BadInput, AFullDisk) {
  ASSERT_EQ(train({"--task", "sort", "--n-layer", "1", "--n-head", "1",
                   "--n-embd", "4"})
                .code,
            0);
  const Ran json =
      run_qkv({"attend", folder / "run", "--prompt", "12", "--json"},
              {.out_path = "/dev/full"});
  EXPECT_EQ(json.code, 3) << json.err;
  // More than a buffer holds: the failure comes in the middle of printing.
  const Ran steps = run_qkv(
      {"attend", folder / "run", "--prompt", "012012=001122", "--steps"},
      {.out_path = "/dev/full"});
  EXPECT_EQ(steps.code, 3) << steps.err;
  const Ran svg = run_qkv(
      {"attend", folder / "run", "--prompt", "12", "-o", "/dev/full/a.svg"});
  EXPECT_EQ(svg.code, 3) << svg.err;
}

TEST_F(BadInput, AFileSizeLimit) {
  const Ran info = run_qkv(
      {"info"}, {.out_path = folder / "out.txt", .most_file_bytes = 10});
  EXPECT_EQ(info.code, 3) << info.err;
  EXPECT_NE(info.err.find("standard output"), std::string::npos) << info.err;
  const Ran svg = run_qkv(
      {"--help"}, {.out_path = folder / "help.txt", .most_file_bytes = 0});
  EXPECT_EQ(svg.code, 3) << svg.err;
}

// What is meant for a closed stderr must not land in the next file opened.
TEST_F(BadInput, ClosedStandardFiles) {
  const Ran ran = run_qkv(
      {"train", "--out", folder / "run", "--task", "sort", "--n-layer", "1",
       "--n-head", "1", "--n-embd", "4", "--steps", "3", "--threads", "1"},
      {.closed = {0, 1, 2}});
  EXPECT_EQ(ran.code, 0);
  std::istringstream log(read_bytes(folder / "run/log.jsonl"));
  int lines = 0;
  for (std::string line; std::getline(log, line); ++lines)
    EXPECT_TRUE(line.starts_with("{\"type\":")) << line;
  EXPECT_GT(lines, 3);
  for (const char* what : {"--help", "--version", "info"})
    EXPECT_EQ(run_qkv({what}, {.closed = {1}}).code, 3) << what;
}

TEST_F(BadInput, AResumeUnderOtherOptionsShowsTheDifference) {
  ASSERT_EQ(train({"--task", "sort", "--n-layer", "1", "--n-head", "1",
                   "--n-embd", "4"})
                .code,
            0);
  expect_refused(run_qkv({"train", "--resume", folder / "run", "--lr", "0.25"}),
                 2, {"lr: 0.25 here, 0.0005 there"});
  expect_refused(
      run_qkv({"train", "--resume", folder / "run", "--task-length", "9"}), 2,
      {"run/last.safetensors", "task_length: 9 here, 0 there"});
  expect_refused(
      run_qkv({"train", "--resume", folder / "run", "--preset", "gpt2"}), 2,
      {"--preset", "--resume"});
}

TEST_F(BadInput, ATrainingThatBreaksDownEndsWithFour) {
  const Ran ran = train({"--task", "sort", "--lr", "1e6", "--steps", "300",
                         "--grad-clip", "0", "--optimizer", "sgd"});
  EXPECT_EQ(ran.code, 4) << ran.err;
  EXPECT_NE(ran.err.find("step "), std::string::npos) << ran.err;
}

TEST_F(BadInput, ConfigurationFiles) {
  const auto config = [&](std::string_view toml) {
    return train({"--config", write_bytes(folder / "c.toml", toml)});
  };
  expect_refused(config("[train]\nlr = \"fast\"\n"), 2, {"c.toml", "lr"});
  expect_refused(config("[train]\nlearning = 1\n"), 2, {"c.toml", "learning"});
  expect_refused(config("[training]\nlr = 1\n"), 2, {"c.toml", "training"});
  expect_refused(config("[train\n"), 2, {"c.toml", "line 1"});
  expect_refused(config("[train]\nsteps = 1.5\n"), 2, {"c.toml", "steps"});
  expect_refused(config("preset = 5\n"), 2, {"c.toml", "preset", "5"});
  expect_refused(config("[model]\nkind = 5\n"), 2, {"c.toml", "kind", "5"});
  expect_refused(config("[data]\ntask = \"sort\"\n[model]\nblock_size = 4\n"),
                 2, {"block_size", "4", "14"});
}

TEST_F(BadInput, AnEmptyValueDoesNotTakeTheNextWord) {
  expect_refused(run_qkv({"train", "--out=", "zz", "--overwrite"}), 2,
                 {"--out is empty"});
  expect_refused(run_qkv({"train", "--lines=", "names.txt"}), 2,
                 {"--lines is empty"});
}

TEST_F(BadInput, HowLinesAreCutSaysNothingOfATask) {
  expect_refused(run_qkv({"train", "--task", "sort", "--window", "3"}), 2,
                 {"window and split are of lines"});
}

TEST_F(BadInput, AHeadThatIsNotShownCannotBeMarked) {
  const std::string model = QKV_SOURCE_DIR "/docs/models/words.safetensors";
  expect_refused(run_qkv({"attend", model, "--prompt", "cat", "--mark", "5.0"}),
                 2, {"--mark 5.0", "layers 0 to 1"});
}

}  // namespace
}  // namespace qkv::test
