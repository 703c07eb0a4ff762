// Checkpoints from outside: forged, damaged, of another model.
#include "bundle/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/json.h"
#include "qkv/bundle.h"
#include "qkv/io.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/train/small_run.h"

namespace qkv {
namespace {

using test::make_trainer;
using test::small_run;
using test::TempFolder;

TEST(Checkpoint, AForgedStateIsNamed) {
  TempFolder folder;
  make_trainer(folder.path(), small_run())->run({.stop_at = 2});
  const std::string path = folder / "last.safetensors";
  Checkpoint good = read_checkpoint(path, ReadOptimizer::yes);
  const auto model = good.model->make();
  model->load(good.weights);
  std::vector<nn::NamedTensor> moments;
  for (const auto& [name, tensor] : good.optimizer)
    moments.push_back({name, tensor});
  using nlohmann::json;
  const std::pair<const char*, json> forged[] = {{"step", -1},
                                                 {"step", 1.5},
                                                 {"step", 1LL << 62},
                                                 {"step", "2"},
                                                 {"updates", 3},
                                                 {"tokens_seen", -5},
                                                 {"best_step", -2},
                                                 {"elapsed_seconds", -1.0},
                                                 {"elapsed_seconds", "x"},
                                                 {"data_position", 7},
                                                 {"data_position", "{}"},
                                                 {"evaluated_step", nullptr}};
  for (const auto& [field, value] : forged) {
    SCOPED_TRACE(std::string(field) + " " + value.dump());
    json info = good.info;
    info["state"][field] = value;
    write_checkpoint(path, *model, *good.tokenizer, moments, info);
    auto trainer = make_trainer(folder.path(), small_run());
    EXPECT_ERROR(input, "last.safetensors", trainer->resume(path));
    EXPECT_EQ(trainer->steps_done(), 0);
  }
  for (const char* part : {"state", "train", "data"}) {
    json info = good.info;
    info[part] = json::array({1});
    write_checkpoint(path, *model, *good.tokenizer, moments, info);
    EXPECT_ERROR(input, part, read_checkpoint(path, ReadOptimizer::yes));
  }
}

TEST(Checkpoint, ACheckpointThatCannotBeTrustedIsNamed) {
  TempFolder folder;
  make_trainer(folder.path(), small_run())->run({.stop_at = 1});
  const std::string path = folder / "last.safetensors";
  const io::SafetensorsFile file(path);
  const auto description = nlohmann::json::parse(file.metadata().at("qkv"));
  io::NamedTensors tensors;
  for (const auto& entry : file.entries())
    tensors.emplace_back(entry.name, file.read(entry.name));
  const auto write = [&](const nlohmann::json& text) {
    io::write_safetensors(path, tensors, {{"qkv", text.dump()}},
                          {.checksums = true});
  };
  for (const auto& [field, value] : description["model"]["config"].items()) {
    auto text = description;
    text["model"]["config"].erase(field);
    write(text);
    EXPECT_ERROR(input,
                 "last.safetensors: model: field '" + field + "' is missing",
                 load_bundle(path));
  }
  auto text = description;
  text["model"]["config"]["n_head"] = 3;
  write(text);
  EXPECT_ERROR(input, "last.safetensors: n_head must divide n_embd",
               load_bundle(path));
  text["model"]["kind"] = "gtp";
  write(text);
  EXPECT_ERROR(input, "last.safetensors: model: there is no model 'gtp'",
               load_bundle(path));
  tensors[3].second.data<float>()[1] = std::nanf("");
  write(description);
  EXPECT_ERROR(numeric, tensors[3].first.substr(6), load_bundle(path));
}

}  // namespace
}  // namespace qkv
