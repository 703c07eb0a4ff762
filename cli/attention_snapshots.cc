#include "cli/attention_snapshots.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "cli/attention_text.h"
#include "cli/run_folder.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "core/check.h"
#include "core/json.h"
#include "qkv/bundle.h"
#include "qkv/inspect.h"
#include "qkv/io.h"

namespace qkv::cli {
namespace {

namespace fs = std::filesystem;

// Sorted by name they are sorted by step.
std::string file_name(std::int64_t step) {
  return fmt::format("step-{:010}.safetensors", step);
}

// What the data's first example holds, padding left out.
std::vector<std::int64_t> first_example(const data::Dataset& dataset) {
  const bool held_out = dataset.examples(data::Split::validation) > 0;
  const data::Batch batch = dataset.evaluation(
      held_out ? data::Split::validation : data::Split::train, 0, 1);
  auto ids = batch.ids.to_vector<std::int64_t>();
  const auto targets = batch.targets.to_vector<std::int64_t>();
  const auto counted = std::find_if(targets.rbegin(), targets.rend(),
                                    [](std::int64_t id) { return id >= 0; });
  // Targets may be of the last positions only.
  const auto before = static_cast<std::int64_t>(ids.size() - targets.size());
  const auto used = std::min<std::int64_t>(
      counted == targets.rend() ? 0 : before + (targets.rend() - counted),
      kSnapshotTokens);
  if (used > 0) ids.resize(static_cast<std::size_t>(used));
  return ids;
}

std::vector<std::string> snapshot_files(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(fs::path(directory) / "attention", error))
    if (entry.path().extension() == ".safetensors")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  if (files.empty())
    fail_input(
        "{}: this run kept no attention: train with --snapshot-attention 100",
        directory);
  return files;
}

std::string entry_of(const io::SafetensorsFile& file, const char* name) {
  const auto found = file.metadata().find(name);
  if (found == file.metadata().end())
    fail_input("{}: no snapshot of attention: its metadata lack '{}'",
               file.path(), name);
  return found->second;
}

std::int64_t step_of(const io::SafetensorsFile& file) {
  const std::string text = entry_of(file, "step");
  std::int64_t step = 0;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, step).ptr != end || text.empty())
    fail_input("{}: metadata 'step' must be a whole number, not '{}'",
               file.path(), text);
  return step;
}

}  // namespace

AttentionSnapshots::AttentionSnapshots(std::int64_t every,
                                       const std::string& prompt,
                                       LanguageModel& model,
                                       const data::Dataset& dataset)
    : every_(every) {
  if (every_ <= 0) return;
  inspect::count_heads(model);
  ids_ = prompt.empty()
             ? first_example(dataset)
             : prompt_ids(dataset.tokenizer(), prompt, "--snapshot-prompt");
  if (std::ssize(ids_) > model.block_size())
    fail_input("--snapshot-prompt: {} tokens, the context has {}: shorten it",
               ids_.size(), model.block_size());
}

void AttentionSnapshots::on_start(const Trainer& trainer) {
  trainer_ = &trainer;
  if (every_ <= 0) return;
  const fs::path folder = fs::path(trainer.directory()) / "attention";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    fail_io("{}: cannot be made: {}", folder.string(), error.message());
  if (trainer.steps_done() == 0) write(0);
}

void AttentionSnapshots::on_step(const TrainStep& event) {
  if (every_ > 0 && event.step % every_ == 0) write(event.step);
}

void AttentionSnapshots::write(std::int64_t step) {
  const auto maps =
      inspect::attention_maps(trainer_->model(), ids_, inspect::Stage::weights);
  std::vector<float> values;
  for (const auto& map : maps)
    for (const float value : map.values)
      values.push_back(value == inspect::kHidden ? 0 : value);
  const auto length = static_cast<std::int64_t>(ids_.size());
  const std::int64_t layers = maps.back().layer + 1;
  const std::int64_t heads = maps.back().head + 1;
  const Tensor weights =
      Tensor::from<float>({layers, heads, length, length}, values)
          .to(DType::f16);
  io::write_safetensors(
      (fs::path(trainer_->directory()) / "attention" / file_name(step))
          .string(),
      {{"weights", weights}},
      {{"step", std::to_string(step)}, {"ids", nlohmann::json(ids_).dump()}});
}

plot::Attention read_film(const std::string& directory, int layer, int head,
                          int frames) {
  const std::vector<std::string> files = snapshot_files(directory);
  const int shown = std::min<int>(frames, static_cast<int>(files.size()));
  const Bundle bundle = load_bundle(directory);
  plot::Attention film;
  film.heads = shown;
  film.causal = true;
  std::vector<std::vector<float>> of_frame;
  Shape shape;
  std::string text;
  for (int i = 0; i < shown; ++i) {
    const std::size_t last = files.size() - 1, gaps = shown - 1;
    const std::size_t at = gaps == 0 ? last : (i * last + gaps / 2) / gaps;
    const io::SafetensorsFile file(files[at]);
    const Tensor weights = file.read("weights");
    const std::string ids = entry_of(file, "ids");
    if (weights.rank() != 4 ||
        (i > 0 && (ids != text || weights.shape() != shape)))
      fail_input("{}: a snapshot of another text or model than {}: remove one",
                 files[at], files.front());
    text = ids;
    shape = weights.shape();
    of_frame.push_back(weights.to_vector<float>());
    for (const float v : of_frame.back())
      if (!(v >= 0 && v <= kMostWeight))
        fail_input("{}: a weight of {}: the snapshot is damaged, remove it",
                   files[at], v);
    film.column_names.push_back(
        fmt::format("step {}", with_commas(step_of(file))));
  }
  const auto ids = parse_json(text, files.front() + ": ids")
                       .get<std::vector<std::int64_t>>();
  film.query_tokens = tokens_of(*bundle.tokenizer, ids);
  film.queries = film.keys = static_cast<int>(shape.dim(2));
  film.title = fmt::format("{}: heads while training", run_name(directory));
  film.about = "attention snapshots of the training run " + directory;
  const int layers = static_cast<int>(shape.dim(0));
  const int heads = static_cast<int>(shape.dim(1));
  if (layer >= layers || head >= heads)
    fail_input("{}: there is no layer {}, head {}: it has {} x {}", directory,
               std::max(layer, 0), std::max(head, 0), layers, heads);
  const auto size = static_cast<std::size_t>(film.queries) * film.keys;
  film.layers = 0;
  for (int l = 0; l < layers; ++l)
    for (int h = 0; h < heads; ++h) {
      if ((layer >= 0 && l != layer) || (head >= 0 && h != head)) continue;
      ++film.layers;
      film.row_names.push_back(fmt::format("head {}.{}", l, h));
      for (const auto& values : of_frame) {
        const auto begin = values.begin() +
                           static_cast<std::ptrdiff_t>((l * heads + h) * size);
        film.values.insert(film.values.end(), begin,
                           begin + static_cast<std::ptrdiff_t>(size));
      }
    }
  return film;
}

}  // namespace qkv::cli
