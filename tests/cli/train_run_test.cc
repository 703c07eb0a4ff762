// Whole runs of the program: train, stop, resume, sample, evaluate, look.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <limits>
#include <map>

#include "cli/run_log.h"
#include "core/json.h"
#include "qkv/io.h"
#include "tests/support/compare.h"
#include "tests/support/files.h"
#include "tests/support/program.h"

namespace qkv::test {
namespace {

using test::same_bits;

// A run of seconds: a tiny model on a generated task.
std::vector<std::string> tiny(const std::string& folder,
                              std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{
      "train", "--task",       "sort", "--out",        folder, "--n-layer",
      "2",     "--n-head",     "2",    "--n-embd",     "16",   "--steps",
      "30",    "--eval-every", "10",   "--batch-size", "8",    "--eval-batches",
      "2",     "--dropout",    "0.1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void expect_same_weights(const std::string& a, const std::string& b) {
  const io::SafetensorsFile x(a), y(b);
  ASSERT_EQ(x.entries().size(), y.entries().size());
  for (const auto& entry : x.entries())
    EXPECT_TRUE(same_bits(x.read(entry.name), y.read(entry.name)))
        << entry.name;
}

std::vector<nlohmann::json> log_of(const std::string& folder) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(read_bytes(folder + "/log.jsonl"));
  for (std::string line; std::getline(text, line);)
    lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST(TrainRun, LeavesEverythingOfARun) {
  TempFolder folder;
  const Ran ran = run_qkv(tiny(folder / "run", {"--sample-every", "15"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  for (const char* name : {"config.toml", "log.jsonl", "last.safetensors",
                           "best.safetensors", "loss.svg", "samples.txt"})
    EXPECT_TRUE(std::filesystem::exists(folder / "run" + "/" + name)) << name;
  int steps = 0, evaluations = 0, samples = 0;
  for (const auto& line : log_of(folder / "run")) {
    steps += line["type"] == "train";
    evaluations += line["type"] == "eval";
    samples += line["type"] == "sample";
  }
  EXPECT_EQ(steps, 30);
  EXPECT_EQ(evaluations, 4);
  EXPECT_EQ(samples, 2);
  // No temporary file is left.
  for (const auto& entry : std::filesystem::directory_iterator(folder / "run"))
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos);
}

// What the banner says of a model with these options.
std::string kernels_line(const std::vector<std::string>& more) {
  TempFolder folder;
  std::vector<std::string> arguments{
      "train", "--steps", "1", "--threads", "1", "--out", folder / "run"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Ran ran = run_qkv(arguments);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("1 thread (asked for)"), std::string::npos) << ran.err;
  const auto begin = ran.err.find("kernels  ");
  if (begin == std::string::npos) return "";
  return ran.err.substr(begin, ran.err.find('\n', begin) - begin);
}

TEST(TrainRun, TheBannerNamesTheKernelsThatThisModelTakes) {
  const auto gpt = [](const char* length) {
    return kernels_line({"--task", "copy", "--task-length", length, "--n-layer",
                         "1", "--n-head", "2", "--n-embd", "16"});
  };
  EXPECT_EQ(gpt("24"),
            "kernels  attention: flash (f32, any mask and any shape), matrix "
            "products: register tiles (f32), blocks: fused (nothing looks "
            "between)");
  EXPECT_NE(gpt("4").find("at most 16 positions"), std::string::npos);
  const std::string mlp = kernels_line({"--task", "copy", "--model", "mlp"});
  EXPECT_EQ(mlp, "kernels  matrix products: register tiles (f32)");
  // Nothing but a table is read, and nothing at all is computed.
  for (const char* model : {"bigram", "counts"})
    EXPECT_EQ(kernels_line({"--task", "copy", "--model", model}), "") << model;
}

TEST(TrainRun, StoppedAndResumedIsTheStraightRun) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "straight", {"--threads", "2"})).code, 0);
  ASSERT_EQ(
      run_qkv(tiny(folder / "parts", {"--stop-at", "13", "--threads", "1"}))
          .code,
      0);
  const Ran ran = run_qkv({"train", "--resume", folder / "parts"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  expect_same_weights(folder / "straight/last.safetensors",
                      folder / "parts/last.safetensors");
  std::int64_t expected = 1;
  for (const auto& line : log_of(folder / "parts"))
    if (line["type"] == "train") {
      EXPECT_EQ(line["step"].get<std::int64_t>(), expected++);
    }
  EXPECT_EQ(expected, 31);
}

TEST(TrainRun, CtrlCSavesAndSaysHowToGoOn) {
  for (const auto& [signal, code] : {std::pair(SIGINT, 130), {SIGTERM, 143}}) {
    TempFolder folder;
    const Ran ran = run_qkv(tiny(folder / "run", {"--steps", "1000000"}),
                            {.signal = signal, .signal_after = "step 20:"});
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_NE(ran.err.find("qkv train --resume " + folder / "run"),
              std::string::npos)
        << ran.err;
    const Ran more = run_qkv({"train", "--resume", folder / "run", "--steps",
                              "1000000", "--max-time", "0.2s"});
    EXPECT_EQ(more.code, 0) << more.err;
  }
}

// The evaluation before the first update would take long here.
TEST(TrainRun, CtrlCEndsAnEvaluation) {
  TempFolder folder;
  std::string text;
  for (int i = 0; i < 100000; ++i)
    text += "abcdefghij\n"[(i % 11) * (i % 11) % 11];
  const Ran ran = run_qkv(
      {"train", "--text", write_bytes(folder / "t.txt", text), "--out",
       folder / "run", "--block-size", "32", "--n-layer", "2", "--n-head", "2",
       "--n-embd", "64", "--batch-size", "1", "--eval-batches", "0"},
      {.signal = SIGINT, .signal_after = "\nrun  "});
  EXPECT_EQ(ran.code, 130) << ran.err;
  EXPECT_EQ(ran.err.find("step 0:"), std::string::npos) << ran.err;
  const Ran more = run_qkv({"train", "--resume", folder / "run", "--stop-at",
                            "1", "--max-time", "0.2s"});
  EXPECT_EQ(more.code, 0) << more.err;
  // What was cut short is made up for.
  EXPECT_NE(more.err.find("step 0:"), std::string::npos) << more.err;
}

TEST(TrainRun, AConfigurationFileIsTheRun) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "a")).code, 0);
  const Ran ran = run_qkv(
      {"train", "--config", folder / "a/config.toml", "--out", folder / "b"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  expect_same_weights(folder / "a/last.safetensors",
                      folder / "b/last.safetensors");
}

TEST(TrainRun, ASourceOnTheCommandLineTakesThePlaceOfTheFiles) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "a", {"--stop-at", "1"})).code, 0);
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += "0\n1\n2\n=\n";
  const Ran ran =
      run_qkv({"train", "--config", folder / "a/config.toml", "--lines",
               write_bytes(folder / "l.txt", lines), "--dry-run"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("l.txt"), std::string::npos) << ran.out;
}

TEST(TrainRun, ADryRunChecksWhatARunWould) {
  const Ran ran =
      run_qkv({"train", "--task", "sort", "--dry-run", "--max-time", "soon"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("--max-time"), std::string::npos) << ran.err;
}

TEST(TrainRun, ARunIsNotOverwrittenUnasked) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "run", {"--stop-at", "1"})).code, 0);
  const std::string before = read_bytes(folder / "run/last.safetensors");
  const Ran refused = run_qkv(tiny(folder / "run"));
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--resume"), std::string::npos) << refused.err;
  EXPECT_EQ(read_bytes(folder / "run/last.safetensors"), before);
  EXPECT_EQ(run_qkv(tiny(folder / "run", {"--overwrite"})).code, 0);
}

TEST(TrainRun, InitFromBeginsWithTheWeightsOfARun) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "a")).code, 0);
  const Ran ran =
      run_qkv(tiny(folder / "b", {"--init-from", folder / "a/last.safetensors",
                                  "--steps", "0"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const io::SafetensorsFile a(folder / "a/last.safetensors"),
      b(folder / "b/last.safetensors");
  const char* name = "model.transformer.wte.weight";
  EXPECT_TRUE(same_bits(a.read(name), b.read(name)));
}

TEST(TrainRun, InitFromKeepsTheFormAndTakesOtherOptions) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "a", {"--block-size", "20"})).code, 0);
  const Ran ran =
      run_qkv({"train", "--task", "sort", "--init-from", folder / "a",
               "--dropout", "0.3", "--steps", "1", "--out", folder / "b"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Ran info = run_qkv({"info", folder / "b", "--json"});
  const auto config = nlohmann::json::parse(info.out)["config"];
  EXPECT_EQ(config["n_layer"], 2);
  EXPECT_EQ(config["block_size"], 20);
  EXPECT_EQ(config["resid_dropout"], 0.3);
  const Ran other =
      run_qkv({"train", "--task", "sort", "--init-from", folder / "a",
               "--n-layer", "3", "--out", folder / "c"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("--init-from"), std::string::npos) << other.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "c"));
}

// Room for more tokens than the data has, and a longer context.
TEST(TrainRun, AModelLargerThanItsDataGoesOnAndIsUsed) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "run", {"--vocab-size", "50", "--block-size",
                                          "20", "--stop-at", "2"}))
                .code,
            0);
  const Ran ran = run_qkv({"train", "--resume", folder / "run"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* command : {"eval", "sample"}) {
    const Ran used = run_qkv({command, folder / "run"});
    EXPECT_EQ(used.code, 0) << used.err;
  }
}

TEST(TrainRun, ResumeOfAFileInThisFolderSavesThere) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "run", {"--stop-at", "2"})).code, 0);
  const std::string before = read_bytes(folder / "run/last.safetensors");
  const Ran ran = run_qkv({"train", "--resume", "last.safetensors"},
                          {.folder = folder / "run"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(read_bytes(folder / "run/last.safetensors"), before);
}

TEST(TrainRun, EvalMeasuresATextShorterThanTheContext) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "run")).code, 0);
  const Ran ran = run_qkv({"eval", folder / "run", "--json", "--text",
                           write_bytes(folder / "short.txt", "210=012")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(nlohmann::json::parse(ran.out)["tokens"], 6);
}

TEST(TrainRun, TheSameSeedGivesTheSameText) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "run")).code, 0);
  const Ran a = run_qkv({"sample", folder / "run", "--seed", "5"});
  const Ran b =
      run_qkv({"sample", folder / "run", "--seed", "5", "--threads", "1"});
  const Ran c = run_qkv({"sample", folder / "run", "--seed", "500"});
  EXPECT_EQ(a.code, 0) << a.err;
  EXPECT_FALSE(a.out.empty());
  EXPECT_EQ(a.out, b.out);
  EXPECT_NE(a.out, c.out);
}

TEST(TrainRun, EvalAndInfoGiveJson) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "run")).code, 0);
  const Ran eval = run_qkv({"eval", folder / "run", "--json"});
  ASSERT_EQ(eval.code, 0) << eval.err;
  const auto measured = nlohmann::json::parse(eval.out);
  EXPECT_GT(measured["loss"].get<double>(), 0);
  EXPECT_GT(measured["bigram_loss"].get<double>(), 0);
  const Ran info = run_qkv({"info", folder / "run", "--json"});
  ASSERT_EQ(info.code, 0) << info.err;
  EXPECT_EQ(nlohmann::json::parse(info.out)["config"]["n_layer"], 2);
}

TEST(TrainRun, AttendDrawsAndWrites) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "run")).code, 0);
  const std::string prompt = "2102";
  const auto attend = [&](std::vector<std::string> more) {
    std::vector<std::string> all{"attend", folder / "run", "--prompt", prompt};
    all.insert(all.end(), more.begin(), more.end());
    return run_qkv(all);
  };
  const Ran grid = attend({});
  EXPECT_EQ(grid.code, 0) << grid.err;
  EXPECT_NE(grid.out.find("1.1"), std::string::npos);
  const Ran steps = attend({"--steps", "--layer", "1", "--head", "1"});
  EXPECT_EQ(steps.code, 0) << steps.err;
  for (const char* part : {"X (", "Q = ", "K = ", "V = ", "softmax", "mask"})
    EXPECT_NE(steps.out.find(part), std::string::npos) << part;
  for (const char* file : {"a.svg", "a.png", "a.json", "a.npy"})
    EXPECT_EQ(attend({"-o", folder / file}).code, 0);
  const auto weights = io::read_npy(folder / "a.npy");
  EXPECT_EQ(weights.shape().rank(), 4);
  EXPECT_EQ(weights.to_vector<float>()[1], 0) << "a hidden pair weighs nothing";
  EXPECT_EQ(attend({"--stage", "scaled", "-o", folder / "s.npy"}).code, 0);
  EXPECT_EQ(io::read_npy(folder / "s.npy").to_vector<float>()[1],
            -std::numeric_limits<float>::infinity());
  const auto json = nlohmann::json::parse(read_bytes(folder / "a.json"));
  EXPECT_EQ(json["heads"].size(), 4u);
  double sum = 0;
  for (const auto& v : json["heads"][3]["values"][2])
    if (!v.is_null()) sum += v.get<double>();
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_TRUE(json["heads"][0]["values"][0][1].is_null());
}

// Of 164,000 parameters a table of 1000 tokens is 39 %; two are 56 % of
// 228,000.
TEST(TrainRun, WarnsWhereTablesOutweighTheModel) {
  TempFolder folder;
  const auto warns = [&](const char* tied) {
    const Ran ran =
        run_qkv(tiny(folder / tied, {"--n-embd", "64", "--vocab-size", "1000",
                                     "--tied-head", tied, "--steps", "0"}));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.err.find("warning  56 %") != std::string::npos
               ? 56
               : ran.err.find("warning") != std::string::npos;
  };
  EXPECT_EQ(warns("true"), 0);
  EXPECT_EQ(warns("false"), 56);
}

TEST(TrainRun, ADryRunTrainsNothing) {
  TempFolder folder;
  const Ran ran = run_qkv({"train", "--preset", "gpt2", "--dry-run"},
                          {.folder = folder.path()});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("124,439,808"), std::string::npos) << ran.out;
  EXPECT_TRUE(folder.names().empty());
}

TEST(TrainRun, ASnapshotOfAWindowHoldsAllOfIt) {
  TempFolder folder;
  const std::string names = write_bytes(folder / "n", "emma\nmia\nana\nleo\n");
  const Ran ran =
      run_qkv({"train", "--lines", names, "--window", "3", "--model", "heads",
               "--n-embd", "8", "--steps", "1", "--snapshot-attention", "1",
               "--quiet", "--out", folder / "run"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const io::SafetensorsFile file(folder /
                                 "run/attention/step-0000000001.safetensors");
  EXPECT_EQ(file.read("weights").shape(), Shape({1, 1, 3, 3}));
}

TEST(TrainRun, BuffersComeAlongWithInitFrom) {
  TempFolder folder;
  const std::string names = write_bytes(folder / "n", "emma\nmia\nana\nleo\n");
  const auto train = [&](std::vector<std::string> more) {
    std::vector<std::string> all{"train",        "--lines", names, "--model",
                                 "wavenet",      "--steps", "2",   "--quiet",
                                 "--batch-size", "4"};
    all.insert(all.end(), more.begin(), more.end());
    return run_qkv(all);
  };
  ASSERT_EQ(train({"--out", folder / "a"}).code, 0);
  const Ran ran = train({"--init-from", folder / "a", "--out", folder / "b"});
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST(TrainRun, AFolderInUseIsNotReplaced) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "run")).code, 0);
  const std::string before = read_bytes(folder / "run/config.toml");
  const cli::RunLog held(folder / "run/log.jsonl");
  const Ran ran = run_qkv(tiny(folder / "run", {"--overwrite", "--lr", "0.5"}));
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("another training"), std::string::npos) << ran.err;
  EXPECT_EQ(read_bytes(folder / "run/config.toml"), before);
  EXPECT_TRUE(std::filesystem::exists(folder / "run/last.safetensors"));
}

TEST(TrainRun, TheLecturesHeadsShowTheirArithmetic) {
  TempFolder folder;
  ASSERT_EQ(run_qkv({"train", "--task", "sort", "--model", "heads", "--n-embd",
                     "8", "--n-head", "2", "--steps", "2", "--out",
                     folder / "run", "--quiet"})
                .code,
            0);
  const Ran ran =
      run_qkv({"attend", folder / "run", "--prompt", "210", "--steps"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("Q = X W_Q"), std::string::npos);
}

TEST(TrainRun, APictureThatCannotBeDrawnEndsNothing) {
  TempFolder folder;
  std::filesystem::create_directories(folder / "run/loss.svg/x");
  const Ran ran = run_qkv(tiny(folder / "run"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("loss.svg is not drawn"), std::string::npos)
      << ran.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "run/last.safetensors"));
}

TEST(TrainRun, SamplesComeInGroupsNotAtTheEnd) {
  TempFolder folder;
  ASSERT_EQ(run_qkv(tiny(folder / "run")).code, 0);
  const Ran all =
      run_qkv({"sample", folder / "run", "--count", "120", "--seed", "5"});
  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), 120);
  // The reader of a million leaves after the first.
  const std::string command = "timeout 60 " QKV_BINARY_DIR "/bin/qkv sample '" +
                              folder / "run" +
                              "' --count 1000000 | head -n 1 >/dev/null";
  EXPECT_EQ(std::system(("bash -c 'set -o pipefail; " + command + "'").c_str()),
            0);
}

TEST(TrainRun, WhatCannotTrainLeavesTheRunThatIsThere) {
  TempFolder folder;
  std::string names;
  for (int i = 0; i < 40; ++i)
    names += std::string(1 + i % 5, 'a' + i % 7) + "\n";
  const std::string lines = write_bytes(folder / "n.txt", names);
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"train",   "--lines", lines,
                                    "--model", "mlp",     "--steps",
                                    "2",       "--out",   folder / "r"};
    all.insert(all.end(), more.begin(), more.end());
    return run_qkv(all);
  };
  ASSERT_EQ(run({}).code, 0);
  const std::string before = read_bytes(folder / "r/last.safetensors");
  const Ran one = run({"--batch-norm", "true", "--window", "3", "--batch-size",
                       "1", "--overwrite"});
  EXPECT_EQ(one.code, 2);
  EXPECT_TRUE(one.err.starts_with("qkv: batch_size 1: ")) << one.err;
  const Ran longer = run({"--context", "5000", "--overwrite"});
  EXPECT_EQ(longer.code, 2);
  EXPECT_TRUE(longer.err.starts_with("qkv: context 5000 is longer"))
      << longer.err;
  EXPECT_EQ(read_bytes(folder / "r/last.safetensors"), before);
}

// A pair that never occurred has probability 0 without smoothing: the training
// breaks down when it is measured for the first time.
TEST(TrainRun, ARunIsReplacedOnceTheNewOneHasSaved) {
  TempFolder folder;
  std::string lines;
  for (int i = 0; i < 200; ++i)
    lines += std::string(1, static_cast<char>('a' + i % 26)) +
             static_cast<char>('a' + i * 7 % 25) + "\n";
  write_bytes(folder / "l.txt", lines);
  const auto files = [&] {
    std::map<std::string, std::string> all;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(folder / "r"))
      if (entry.is_regular_file())
        all[entry.path().string()] = read_bytes(entry.path().string());
    return all;
  };
  const auto run = [&](const char* smoothing, const char* overwrite) {
    return run_qkv({"train", "--lines", folder / "l.txt", "--model", "counts",
                    "--smoothing", smoothing, "--out", folder / "r",
                    overwrite});
  };
  ASSERT_EQ(run("1", "--quiet").code, 0);
  const auto before = files();
  EXPECT_EQ(run("0", "--overwrite").code, 4);
  EXPECT_EQ(files(), before);
  EXPECT_EQ(run("2", "--overwrite").code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder / "r/.replaced"));
  EXPECT_NE(files(), before);
}

}  // namespace
}  // namespace qkv::test
