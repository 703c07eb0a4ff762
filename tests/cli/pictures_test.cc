// Pictures from the command line: every format, somebody else's matrices, runs
// compared, heads over time; and what is refused, nothing left behind.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "core/json.h"
#include "qkv/io.h"
#include "tests/cli/refused.h"
#include "tests/plot/xml.h"
#include "tests/support/files.h"
#include "tests/support/program.h"

namespace qkv::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNasty = "a <&\">'\n שלום 😀 <\\script>";

// A tiny run, trained once for all tests here, in a folder whose name tries
// everything.
class Pictures : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    home_ = new TempFolder;
    const Ran ran = train("run", {"--snapshot-attention", "10"});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  static void TearDownTestSuite() { delete home_; }

  static Ran train(const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> all{
        "train",   "--task",         "sort", "--out",
        run(name), "--n-layer",      "2",    "--n-head",
        "2",       "--n-embd",       "8",    "--steps",
        "20",      "--eval-every",   "10",   "--batch-size",
        "4",       "--eval-batches", "1",    "--dropout",
        "0.1"};
    all.insert(all.end(), more.begin(), more.end());
    return run_qkv(all);
  }
  static std::string run(const std::string& name) {
    return *home_ / name + " " + kNasty;
  }
  static Ran attend(std::vector<std::string> more,
                    const std::string& prompt = "210212") {
    std::vector<std::string> all{"attend", run("run"), "--prompt", prompt};
    all.insert(all.end(), more.begin(), more.end());
    return run_qkv(all);
  }
  static Ran weights(std::vector<std::string> more) {
    more.insert(more.begin(), "attend");
    return run_qkv(more);
  }

  // An npy of these numbers.
  std::string npy(const char* name, const Shape& shape,
                  const std::vector<float>& values,
                  DType dtype = DType::f32) const {
    io::write_npy(folder / name, Tensor::from<float>(shape, values).to(dtype));
    return folder / name;
  }

  static plot::Element only_root(const std::string& path) {
    return plot::parse_xml(read_bytes(path)).front();
  }

  static TempFolder* home_;
  TempFolder folder;
};
TempFolder* Pictures::home_ = nullptr;

TEST_F(Pictures, EveryFormatFromARunOfAnyName) {
  for (const char* file : {"a.svg", "a.png", "a.html", "a.json", "a.npy"}) {
    const Ran ran = attend({"-o", folder / file});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, "wrote " + folder / file + "\n");
  }
  EXPECT_EQ(only_root(folder / "a.svg").name, "svg");
  EXPECT_TRUE(read_bytes(folder / "a.png").starts_with("\x89PNG"));
  EXPECT_NE(read_bytes(folder / "a.html").find("codes-0-1-1"),
            std::string::npos);
  EXPECT_EQ(folder.names().size(), 5u);
}

TEST_F(Pictures, TwoPromptsSideBySide) {
  const std::vector<std::string> two{"--prompt", "0011"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), two.begin(), two.end());
    return attend(more);
  };
  ASSERT_EQ(with({"-o", folder / "a.svg"}).code, 0);
  ASSERT_EQ(attend({"-o", folder / "b.svg"}).code, 0);
  EXPECT_GT(
      std::stod(only_root(folder / "a.svg").attributes.at("width")),
      1.9 * std::stod(only_root(folder / "b.svg").attributes.at("width")));
  ASSERT_EQ(with({"-o", folder / "a.png"}).code, 0);
  ASSERT_EQ(with({"-o", folder / "a.html"}).code, 0);
  EXPECT_NE(read_bytes(folder / "a.html").find("codes-1-1-1"),
            std::string::npos);
  ASSERT_EQ(with({"-o", folder / "a.json"}).code, 0);
  const auto json = nlohmann::json::parse(read_bytes(folder / "a.json"));
  ASSERT_EQ(json["texts"].size(), 2u);
  EXPECT_EQ(json["texts"][1]["tokens"].size(), 5u) << "the start and four";
  const Ran text = with({});
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("0011"), std::string::npos);
  expect_refused(with({"-o", folder / "a.npy"}), 2, {"one length", "7", "5"});
  ASSERT_EQ(attend({"--prompt", "000000", "-o", folder / "a.npy"}).code, 0);
  EXPECT_EQ(io::read_npy(folder / "a.npy").shape(), (Shape{2, 2, 2, 7, 7}));
  expect_refused(with({"--steps"}), 2, {"--steps", "one --prompt"});
}

TEST_F(Pictures, AFileForEveryHead) {
  ASSERT_EQ(attend({"--all-heads", "-o", folder / "heads"}).code, 0);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder / "heads"))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{
                       "layer-0-head-0.svg", "layer-0-head-1.svg",
                       "layer-1-head-0.svg", "layer-1-head-1.svg"}));
  expect_refused(attend({"--all-heads"}), 2, {"--all-heads", "-o FOLDER"});
}

TEST_F(Pictures, MarksAHead) {
  ASSERT_EQ(attend({"--mark", "1.0=in<duction", "-o", folder / "a.svg"}).code,
            0);
  EXPECT_NE(read_bytes(folder / "a.svg").find(">in&lt;duction<"),
            std::string::npos);
  for (const char* bad : {"1", "1.", "x.0", "1.0x", "-"})
    expect_refused(attend({"--mark", bad}), 2, {"--mark", "1.0=induction"});
}

// ---- Somebody else's matrices -----------------------------------------------

TEST_F(Pictures, DrawsMatricesOfEveryShapeAndType) {
  const std::string tokens =
      write_bytes(folder / "tokens", "The\r\n cat\n</script>\n");
  std::vector<float> causal{1, 0, 0, 0.25, 0.75, 0, 0.5, 0.25, 0.25};
  for (const DType dtype : {DType::f16, DType::f32, DType::f64}) {
    const std::string file = npy("a.npy", {3, 3}, causal, dtype);
    for (const char* out : {"a.svg", "a.png", "a.html", "a.json"}) {
      const Ran ran =
          weights({"--weights", file, "--tokens", tokens, "-o", folder / out});
      EXPECT_EQ(ran.code, 0) << ran.err;
    }
    EXPECT_EQ(only_root(folder / "a.svg").name, "svg");
  }
  const auto json = nlohmann::json::parse(read_bytes(folder / "a.json"));
  EXPECT_EQ(json["tokens"],
            (std::vector<std::string>{"The", " cat", "</script>"}));
  // Zeros above the diagonal are a causal mask's.
  EXPECT_NE(read_bytes(folder / "a.html").find("\"causal\":true"),
            std::string::npos);

  std::vector<float> many(2 * 3 * 9, 1.0F / 3);
  const std::string all = npy("b.npy", {2, 3, 3, 3}, many);
  const Ran ran = weights({"--weights", all, "--tokens", tokens, "--layer", "1",
                           "-o", folder / "b.json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto chosen = nlohmann::json::parse(read_bytes(folder / "b.json"));
  ASSERT_EQ(chosen["heads"].size(), 3u);
  EXPECT_EQ(chosen["heads"][2]["layer"], 1);
  EXPECT_EQ(chosen["heads"][2]["head"], 2);
  expect_refused(weights({"--weights", all, "--tokens", tokens, "--head", "3"}),
                 2, {"b.npy", "head 3", "2 x 3"});
}

TEST_F(Pictures, DrawsCrossAttention) {
  const std::string file = npy("a.npy", {2, 3}, {0.5F, 0.25F, 0.25F, 0, 0, 1});
  const std::string rows = write_bytes(folder / "rows", "le\nchat\n");
  const std::string columns =
      write_bytes(folder / "columns.json", "[\"the\", \"\\n\", \" cat\"]");
  const Ran ran = weights({"--weights", file, "--tokens", rows, "--key-tokens",
                           columns, "-o", folder / "a.json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(read_bytes(folder / "a.json"));
  EXPECT_EQ(json["key_tokens"][1], "\n");
  for (const char* out : {"a.svg", "a.png", "a.html"})
    EXPECT_EQ(weights({"--weights", file, "--tokens", rows, "--key-tokens",
                       columns, "-o", folder / out})
                  .code,
              0);
  EXPECT_EQ(
      weights({"--weights", file, "--tokens", rows, "--key-tokens", columns})
          .code,
      0);
}

TEST_F(Pictures, RefusesMatricesThatCannotBe) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const std::string two = write_bytes(folder / "two", "a\nb\n");
  const auto draw = [&](const Shape& shape, const std::vector<float>& values,
                        const std::string& tokens,
                        std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--weights", npy("m.npy", shape, values),
                               "--tokens", tokens, "-o", folder / "x.svg"});
    return weights(more);
  };
  expect_refused(draw({2, 3}, {0, 0, 0, 0, 0, 0}, two), 2,
                 {"m.npy", "2 queries and 3 keys", "--key-tokens"});
  expect_refused(draw({2, 2}, {1, 0, nan, 0}, two), 2,
                 {"m.npy", "nan at layer 0, head 0, query 1, key 0"});
  expect_refused(draw({1, 2, 2, 2}, {1, 0, 1, 0, 1, 0, 1, inf}, two), 2,
                 {"m.npy", "inf at layer 0, head 1, query 1, key 1"});
  expect_refused(draw({2, 2}, {1, 0, 3.5F, 0}, two), 2,
                 {"m.npy", "3.5", "--stage scaled"});
  expect_refused(draw({2, 2}, {1, 0, -0.5F, 0}, two), 2, {"m.npy", "-0.5"});
  EXPECT_EQ(draw({2, 2}, {1, -inf, -3.5F, 7}, two, {"--stage", "scaled"}).code,
            0);
  fs::remove(folder / "x.svg");
  expect_refused(draw({4}, {1, 0, 0, 0}, two), 2, {"m.npy", "(4)"});
  expect_refused(draw({0, 0}, {}, two), 2, {"m.npy", "(0,0)"});
  const std::string three = write_bytes(folder / "three", "a\nb\nc\n");
  expect_refused(draw({2, 2}, {1, 0, 1, 0}, three), 2,
                 {"three", "3 tokens for the 2 queries", "m.npy"});
  expect_refused(draw({2, 2}, {1, 0, 1, 0}, two, {"--key-tokens", three}), 2,
                 {"three", "3 tokens for the 2 keys"});
  const std::string json = write_bytes(folder / "t.json", "{\"a\": 1}");
  expect_refused(draw({2, 2}, {1, 0, 1, 0}, json), 2, {"t.json", "list"});
  write_bytes(json, "[\"a\", 2]");
  expect_refused(draw({2, 2}, {1, 0, 1, 0}, json), 2, {"t.json", "entry 1"});
  expect_refused(draw({2, 2}, {1, 0, 1, 0}, folder / "none"), 2, {"none"});
  expect_refused(draw({2, 2}, {1, 0, 1, 0}, two, {"--prompt", "a"}), 2,
                 {"--weights", "--prompt"});
  expect_refused(weights({"--weights", folder / "m.npy"}), 2,
                 {"--tokens", "m.npy"});
  expect_refused(weights({"--prompt", "a"}), 2, {"RUN", "--weights"});
  expect_refused(weights({run("run")}), 2, {"--prompt"});
  expect_refused(attend({"--tokens", two}), 2, {"--tokens", "--weights"});
  EXPECT_FALSE(fs::exists(folder / "x.svg"));
}

// ---- Files that cannot be written -------------------------------------------

TEST_F(Pictures, LeavesNothingWhereNothingCanBeWritten) {
  write_bytes(folder / "file", "kept");
  for (const char* name : {"a.svg", "a.png", "a.html", "a.json", "a.npy"}) {
    expect_refused(attend({"-o", folder / "file/" + name}), 3, {name});
    expect_refused(attend({"-o", folder / "missing/" + name}), 3, {name});
  }
  for (const char* name : {"a.svg", "a.png"}) {
    expect_refused(run_qkv({"plot", run("run"), "-o", folder / "file/" + name}),
                   3, {name});
    expect_refused(run_qkv({"plot", run("run"), "--film", "-o",
                            folder / "missing/" + name}),
                   3, {name});
  }
  expect_refused(attend({"--all-heads", "-o", folder / "file/heads"}), 3,
                 {"file/heads"});
  EXPECT_EQ(folder.names(), std::vector<std::string>{"file"});
  EXPECT_EQ(read_bytes(folder / "file"), "kept");
}

TEST_F(Pictures, LeavesNothingOnAFullDisk) {
  for (const char* name : {"a.svg", "a.png", "a.html"}) {
    const Ran ran = run_qkv(
        {"attend", run("run"), "--prompt", "210212", "-o", folder / name},
        {.most_file_bytes = 1000});
    expect_refused(ran, 3, {name});
  }
  EXPECT_TRUE(folder.names().empty());
}

// ---- Runs -------------------------------------------------------------------

TEST_F(Pictures, ComparesRuns) {
  ASSERT_EQ(train("other", {"--overwrite"}).code, 0);
  for (const char* file : {"a.svg", "a.png"})
    EXPECT_EQ(
        run_qkv({"plot", run("run"), run("other"), "-o", folder / file}).code,
        0);
  const auto elements = plot::parse_xml(read_bytes(folder / "a.svg"));
  int dashed = 0;
  for (const auto& element : elements)
    dashed += element.name == "path" &&
              element.attributes.contains("stroke-dasharray");
  EXPECT_EQ(dashed, 1) << "the second of two";
  const Ran text = run_qkv({"plot", run("run"), run("other")});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("\nb other"), std::string::npos) << text.out;
  const Ran one = run_qkv({"plot", run("run")});
  EXPECT_NE(one.out.find("validation"), std::string::npos) << one.out;
  EXPECT_EQ(run_qkv({"plot", run("run"), "--train", "--log-x"}).code, 0);
  expect_refused(run_qkv({"plot", folder / "none"}), 2, {"none", "log.jsonl"});
  expect_refused(run_qkv({"plot", run("run"), "-o", "a.pdf"}), 2,
                 {".svg", "a.pdf"});
  expect_refused(run_qkv({"plot", run("run"), "--layer", "0"}), 2, {"--film"});
}

TEST_F(Pictures, FilmsHeads) {
  for (const char* file : {"a.svg", "a.png"})
    EXPECT_EQ(run_qkv({"plot", run("run"), "--film", "-o", folder / file}).code,
              0);
  const std::string svg = read_bytes(folder / "a.svg");
  for (const char* part :
       {">step 0<", ">step 10<", ">step 20<", ">head 0.0<", ">head 1.1<"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  ASSERT_EQ(run_qkv({"plot", run("run"), "--film", "--frames", "2", "--layer",
                     "1", "--head", "0", "-o", folder / "b.svg"})
                .code,
            0);
  const std::string one = read_bytes(folder / "b.svg");
  EXPECT_EQ(one.find(">step 10<"), std::string::npos);
  EXPECT_EQ(one.find(">head 0.0<"), std::string::npos);
  expect_refused(run_qkv({"plot", run("run"), "--film"}), 2, {"-o FILE.svg"});
  expect_refused(run_qkv({"plot", run("run"), "--film", "--layer", "2", "-o",
                          folder / "c.svg"}),
                 2, {"layer 2", "2 x 2"});
}

// Of letters whose counts are known.
TEST_F(Pictures, MapsTheCountsOfPairs) {
  write_bytes(folder / "words.txt", "aab\nab\nb\naab\nab\nab\n");
  const Ran ran =
      run_qkv({"train", "--model", "counts", "--lines", folder / "words.txt",
               "--out", folder / "counts", "--validation-fraction", "0"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* file : {"a.svg", "a.png"})
    EXPECT_EQ(
        run_qkv({"plot", folder / "counts", "--counts", "-o", folder / file})
            .code,
        0);
  const auto elements = plot::parse_xml(read_bytes(folder / "a.svg"));
  // A pair's count stands under it: the same x, the next y below.
  const auto count_of = [&](const std::string& pair) -> std::string {
    for (std::size_t i = 0; i + 1 < elements.size(); ++i)
      if (elements[i].name == "text" && elements[i].text == pair)
        return elements[i + 1].text;
    return "none";
  };
  EXPECT_EQ(count_of("aa"), "2");
  EXPECT_EQ(count_of("ab"), "5");
  EXPECT_EQ(count_of("ba"), "0");
  EXPECT_EQ(count_of("·a"), "5");
  EXPECT_EQ(count_of("b·"), "6");
  expect_refused(run_qkv({"plot", folder / "counts", "--embedding", "-o",
                          folder / "b.svg"}),
                 2, {"counts", "no token embedding"});
  expect_refused(run_qkv({"plot", folder / "counts", "--counts"}), 2,
                 {"--counts", "-o FILE.svg"});
  expect_refused(
      run_qkv({"plot", run("run"), "--counts", "-o", folder / "b.svg"}), 2,
      {"gpt", "no counts of pairs"});
}

TEST_F(Pictures, DrawsWhereTokensLie) {
  // Of 8 dimensions: along the directions of most variance.
  for (const char* file : {"a.svg", "a.png"})
    EXPECT_EQ(
        run_qkv({"plot", run("run"), "--embedding", "-o", folder / file}).code,
        0);
  const std::string svg = read_bytes(folder / "a.svg");
  EXPECT_NE(svg.find("token embedding, two principal components of 8"),
            std::string::npos);
  int letters = 0;
  for (const auto& element : plot::parse_xml(svg))
    letters +=
        element.name == "text" &&
        (element.text == "0" || element.text == "1" || element.text == "2");
  EXPECT_GE(letters, 3);
  // Of two: as they are.
  write_bytes(folder / "words.txt", "aab\nab\nb\naab\nab\nabc\n");
  const Ran ran =
      run_qkv({"train", "--model", "mlp", "--n-embd", "2", "--lines",
               folder / "words.txt", "--out", folder / "mlp", "--steps", "1"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  ASSERT_EQ(
      run_qkv({"plot", folder / "mlp", "--embedding", "-o", folder / "b.svg"})
          .code,
      0);
  EXPECT_NE(read_bytes(folder / "b.svg")
                .find("mlp: token embedding, its two dimensions"),
            std::string::npos);
  for (const auto& [options, words] : std::vector<
           std::pair<std::vector<std::string>, std::vector<std::string>>>{
           {{"--film", "--embedding"}, {"--film, --counts and --embedding"}},
           {{"--embedding", "--log-x"}, {"--log-x", "--embedding"}},
           {{"--embedding", run("run")},
            {"--embedding shows one run, not 2"}}}) {
    std::vector<std::string> all{"plot", run("run"), "-o", folder / "c.svg"};
    all.insert(all.end(), options.begin(), options.end());
    expect_refused(run_qkv(all), 2, words);
  }
}

TEST_F(Pictures, SnapshotsChangeNoBitOfTheTraining) {
  ASSERT_EQ(train("plain", {}).code, 0);
  EXPECT_FALSE(fs::exists(run("plain") + "/attention"));
  const io::SafetensorsFile a(run("run") + "/last.safetensors"),
      b(run("plain") + "/last.safetensors");
  ASSERT_EQ(a.entries().size(), b.entries().size());
  for (const auto& entry : a.entries())
    EXPECT_EQ(io::checksum(a.read(entry.name)),
              io::checksum(b.read(entry.name)))
        << entry.name;
}

TEST_F(Pictures, SnapshotsHoldTheModelsWeights) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(run("run") + "/attention"))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  ASSERT_EQ(names, (std::vector<std::string>{"step-0000000000.safetensors",
                                             "step-0000000010.safetensors",
                                             "step-0000000020.safetensors"}));
  // On a text of one's own, the last one is what attend shows.
  ASSERT_EQ(train("own",
                  {"--snapshot-attention", "20", "--snapshot-prompt", "210212"})
                .code,
            0);
  const io::SafetensorsFile last(run("own") +
                                 "/attention/step-0000000020.safetensors");
  EXPECT_EQ(last.metadata().at("step"), "20");
  const auto kept = last.read("weights").to_vector<float>();
  ASSERT_EQ(run_qkv({"attend", run("own") + "/last.safetensors", "--prompt",
                     "210212", "-o", folder / "a.npy"})
                .code,
            0);
  const auto shown = io::read_npy(folder / "a.npy").to_vector<float>();
  ASSERT_EQ(kept.size(), shown.size());
  for (std::size_t i = 0; i < kept.size(); ++i)
    EXPECT_NEAR(kept[i], shown[i], 5e-4);
}

TEST_F(Pictures, RefusesSnapshotsThatCannotBe) {
  expect_refused(
      train("bad", {"--snapshot-attention", "5", "--snapshot-prompt", "xyz"}),
      2, {"--snapshot-prompt", "'x'"});
  const Ran bigram =
      run_qkv({"train", "--task", "sort", "--model", "bigram", "--out",
               run("bad"), "--steps", "2", "--snapshot-attention", "1"});
  expect_refused(bigram, 2, {"attention"});
  expect_refused(train("bad", {"--snapshot-attention", "5", "--snapshot-prompt",
                               std::string(500, '0')}),
                 2, {"--snapshot-prompt", "501"});
  EXPECT_FALSE(fs::exists(run("bad")));
  ASSERT_EQ(train("plain2", {}).code, 0);
  expect_refused(
      run_qkv({"plot", run("plain2"), "--film", "-o", folder / "a.svg"}), 2,
      {"--snapshot-attention"});
}

}  // namespace
}  // namespace qkv::test
