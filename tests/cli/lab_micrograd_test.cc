// Differentiation of single numbers against answers known before, and against
// differences; and the experiment itself.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "cli/lab/scalar.h"
#include "core/json.h"
#include "tests/support/files.h"
#include "tests/support/program.h"

namespace qkv::test {
namespace {

using cli::lab::Scalar;

TEST(Scalar, SlopesAreThoseOfDifferences) {
  struct Case {
    const char* name;
    std::function<Scalar(const Scalar&, const Scalar&)> f;
  };
  const Case cases[] = {
      {"+", [](auto& a, auto& b) { return a + b + 3; }},
      {"×", [](auto& a, auto& b) { return a * b * a; }},
      {"-", [](auto& a, auto& b) { return a - 2 * b - a * 3; }},
      {"negation", [](auto& a, auto& b) { return -a * b; }},
      {"/", [](auto& a, auto& b) { return a / b + 1 / a; }},
      {"power", [](auto& a, auto& b) { return power(a, 3) * power(b, -0.5); }},
      {"relu", [](auto& a, auto& b) { return relu(a) + 5 * relu(-b); }},
      {"tanh", [](auto& a, auto& b) { return tanh(a * b); }},
      {"exp", [](auto& a, auto& b) { return exp(a - b); }}};
  const double x = 0.8, y = 1.7, h = 1e-5;
  for (const Case& c : cases) {
    const Scalar a(x), b(y);
    c.f(a, b).backward();
    const auto at = [&](double u, double v) {
      return c.f(Scalar(u), Scalar(v)).data();
    };
    EXPECT_NEAR(a.gradient(), (at(x + h, y) - at(x - h, y)) / (2 * h), 1e-8)
        << c.name;
    EXPECT_NEAR(b.gradient(), (at(x, y + h) - at(x, y - h)) / (2 * h), 1e-8)
        << c.name;
  }
}

TEST(Scalar, AddsUpAllWays) {
  const Scalar a(3);
  const Scalar b = a + a, c = b * a;  // 2 a²
  c.backward();
  EXPECT_EQ(a.gradient(), 12);
  EXPECT_EQ(b.gradient(), 3);
  // A second time adds the same again, not what was there as well.
  c.backward();
  EXPECT_EQ(a.gradient(), 24);
  EXPECT_EQ(b.gradient(), 6);
  EXPECT_EQ(c.gradient(), 2);
}

TEST(Scalar, ComesToAValueAfterAllThatUsesIt) {
  // A diamond of 60 steps has 2^60 ways; the slope of the sum of both sides is
  // 2 a step.
  const Scalar a(1e-9);
  Scalar x = a;
  for (int i = 0; i < 60; ++i) {
    const Scalar side = x + 1e-30;
    x = x + side;
  }
  x.backward();
  EXPECT_EQ(a.gradient(), 0x1p60);
  EXPECT_EQ(x.history().size(), 1u + 3 * 60u);
}

TEST(Scalar, KnowsWhatItWasMadeOf) {
  const Scalar a(2, "a"), b(3, "b");
  const Scalar c = (a * b).named("c");
  EXPECT_EQ(c.operation(), "×");
  ASSERT_EQ(c.from().size(), 2u);
  EXPECT_TRUE(c.from()[0].same(a));
  EXPECT_EQ(c.from()[1].name(), "b");
  EXPECT_EQ(c.name(), "c");
  EXPECT_TRUE(a.operation().empty());
}

TEST(LabMicrograd, GivesThePublishedAnswersAndPartsTheMoons) {
  TempFolder folder;
  const Ran ran =
      run_qkv({"lab", "micrograd", "--json", "--out", folder / "o"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto tables = nlohmann::json::parse(ran.out)["tables"];
  const auto& answers = tables[0]["rows"];
  ASSERT_EQ(answers.size(), 13u);
  for (const auto& row : answers) EXPECT_EQ(row[1], row[2]) << row;
  EXPECT_EQ(answers[2][1], "645.5773");
  EXPECT_NE(tables[1]["title"].get<std::string>().find("337 parameters"),
            std::string::npos);
  const auto& moons = tables[1]["rows"];
  EXPECT_EQ(moons.front()[0], "0");
  EXPECT_LT(std::stod(moons.front()[2].get<std::string>()), 90);
  EXPECT_EQ(moons.back()[0], "99");
  EXPECT_EQ(moons.back()[2], "100");
  EXPECT_LT(std::stod(moons.back()[1].get<std::string>()), 0.03);
  for (const char* name : {"neuron", "loss", "moons"})
    EXPECT_TRUE(std::filesystem::exists(folder / "o/micrograd-" + name +
                                        std::string(".svg")))
        << name;
  const std::string graph = read_bytes(folder / "o/micrograd-neuron.svg");
  for (const char* text : {">data 0.7071<", ">grad \u22121.5000<", ">tanh<"})
    EXPECT_NE(graph.find(text), std::string::npos) << text;
}

}  // namespace
}  // namespace qkv::test
