// qkv layer on the fixtures that PyTorch made, and on bad input.
#include <gtest/gtest.h>

#include "qkv/io.h"
#include "tests/project/shell.h"
#include "tests/support/compare.h"
#include "tests/support/files.h"

namespace qkv::project {
namespace {

using test::TempFolder;

class LayerCommand : public ::testing::Test {
 protected:
  // The fixture's parts as the files a user has; its results stay in golden().
  void use(const std::string& fixture) {
    golden_.emplace(
        test::fixture("golden/attention_" + fixture + ".safetensors"));
    io::NamedTensors weights, inputs;
    for (const auto& entry : golden_->entries()) {
      if (entry.name.starts_with("weight."))
        weights.emplace_back(entry.name.substr(7), golden_->read(entry.name));
      if (entry.name.find('.') == std::string::npos)
        inputs.emplace_back(entry.name, golden_->read(entry.name));
    }
    io::write_safetensors(folder_ / "w", weights);
    io::write_safetensors(folder_ / "x", inputs);
  }
  const io::SafetensorsFile& golden() const { return *golden_; }

  Result run(const std::string& options, const std::string& output = "y") {
    return shell("cd '" + folder_.path() +
                 "' && '" QKV_BINARY_DIR
                 "/bin/qkv' layer --weights w --input x --output " +
                 output + " " + options);
  }
  void expect_error(const std::string& options, int status,
                    const std::string& text, const std::string& output = "y") {
    const Result result = run(options, output);
    EXPECT_EQ(result.status, status);
    EXPECT_NE(result.output.find(text), std::string::npos) << result.output;
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1)
        << result.output;
    EXPECT_EQ(folder_.names(), (std::vector<std::string>{"w", "x"}));
  }

  TempFolder folder_;

 private:
  std::optional<io::SafetensorsFile> golden_;
};

TEST_F(LayerCommand, EqualsPyTorch) {
  for (const auto& [fixture, heads] :
       {std::pair<std::string, std::string>{"self", ""},
        {"multi_head", "--heads 4"},
        {"cross", "--heads 2"},
        {"cross_long", "--heads 3"},
        {"block", "--heads 2"}}) {
    use(fixture);
    for (const std::string mask : {"none", "causal", "window:3"})
      for (const std::string type : {"f32", "f64"}) {
        std::string options = heads;
        options.append(" --mask ")
            .append(mask)
            .append(" --dtype ")
            .append(type);
        SCOPED_TRACE(fixture + options);
        const Result result = run(options);
        ASSERT_EQ(result.status, 0) << result.output;
        const io::SafetensorsFile got(folder_ / "y");
        std::size_t expected = 0;
        for (const auto& entry : golden().entries()) {
          if (!entry.name.starts_with(mask + ".")) continue;
          ++expected;
          const std::string name = entry.name.substr(mask.size() + 1);
          const Tensor tensor = got.read(name);
          EXPECT_EQ(name_of(tensor.dtype()), type);
          EXPECT_TRUE(test::near(tensor, golden().read(entry.name),
                                 type == "f64" ? 1e-10 : 2e-5))
              << name;
        }
        EXPECT_GT(expected, 5u);
        EXPECT_EQ(got.entries().size(), expected);
      }
  }
}

TEST_F(LayerCommand, WithoutAGradientThereIsOutputAndWeights) {
  use("multi_head");
  io::write_safetensors(folder_ / "x", {{"x", golden().read("x")}});
  ASSERT_EQ(run("--heads 4").status, 0);
  const io::SafetensorsFile got(folder_ / "y");
  EXPECT_EQ(got.entries().size(), 2u);
  EXPECT_EQ(got.read("out").shape().str(), "(2,5,8)");
  EXPECT_EQ(got.read("weights").shape().str(), "(2,4,5,5)");
  EXPECT_EQ(got.read("out").dtype(), DType::f32);
}

TEST_F(LayerCommand, SaysWhatIsWrong) {
  use("multi_head");
  expect_error("", 2, "w: a MultiHeadSelfAttention needs --heads");
  expect_error("--heads 3", 2,
               "embed_dim must be divisible by num_heads, and 8 is not by 3");
  expect_error("--heads 0", 2, "--heads");
  expect_error("--heads 4 --mask window:0", 2, "'window:0'");
  expect_error("--heads 4 --mask window:2x", 2, "'window:2x'");
  expect_error("--heads 4 --mask diagonal", 2, "not 'diagonal'");
  expect_error("--heads 4 --dtype f16", 2, "f16");
  expect_error("--heads 4", 3, "/dev/full", "/dev/full");
  expect_error("--heads 4", 3, "none/y: cannot write it", "none/y");

  const Tensor x = golden().read("x");
  io::write_safetensors(folder_ / "x", {{"y", x}});
  expect_error("--heads 4", 2, "x: 'y' is none of x, memory and grad_out");
  io::write_safetensors(folder_ / "x", {{"grad_out", x}});
  expect_error("--heads 4", 2, "x: 'x' is missing");
  io::write_safetensors(folder_ / "x", {{"x", x}, {"memory", x}});
  expect_error("--heads 4", 2, "x: 'memory' is of no use");
  io::write_safetensors(folder_ / "x",
                        {{"x", x}, {"grad_out", Tensor::zeros({2, 5, 7})}});
  expect_error("--heads 4", 2, "'grad_out' (2,5,7)");
  io::write_safetensors(folder_ / "x", {{"x", Tensor::zeros({2, 5, 7})}});
  expect_error("--heads 4", 2, "(batch,length,8), not (2,5,7)");
  io::write_safetensors(folder_ / "x", {{"x", Tensor::zeros({2}, DType::i64)}});
  expect_error("--heads 4", 2, "holds i64");

  use("cross");
  io::write_safetensors(folder_ / "x", {{"x", golden().read("x")}});
  expect_error("--heads 2", 2, "x: 'memory' is missing");

  io::write_safetensors(folder_ / "w", {{"conv.weight", Tensor::zeros({2})}});
  expect_error("--heads 2", 2, "it holds 'conv.weight'");
  io::write_safetensors(folder_ / "w", {{"qkv.weight", Tensor::zeros({2})}});
  expect_error("--heads 2", 2, "'qkv.weight' must be a matrix, not (2)");
  io::write_safetensors(folder_ / "w",
                        {{"qkv.weight", Tensor::zeros({12, 4})}});
  expect_error("--heads 2", 2, "'qkv.bias' (12) is missing");
  use("self");
  expect_error("--heads 2", 2, "a SelfAttention has one head");
}

}  // namespace
}  // namespace qkv::project
