#include <cmath>

#include "core/check.h"
#include "data/kinds.h"
#include "qkv/data.h"

namespace qkv::data {
namespace {

struct DataKind {
  std::string_view name;
  std::string DataConfig::*source;  // given when it is not empty
  OpenKind* open;
};

// A new kind is a file beside this one, its fields in DataConfig and a line
// here.
constexpr DataKind kKinds[] = {
    {"lines", &DataConfig::lines, open_lines},
    {"text", &DataConfig::text, open_text},
    {"task", &DataConfig::task, open_task},
};

void check(const DataConfig& config) {
  const double fraction = config.validation_fraction;
  if (!(fraction >= 0 && fraction < 1))
    fail_input("validation_fraction must be at least 0 and below 1, not {}",
               fraction);
  if (!config.validation_text.empty() && config.text.empty())
    fail_input("validation_text ({}) needs a text to train on",
               config.validation_text);
  if ((config.window != 0 || config.split != SplitRule::makemore) &&
      !(config.text.empty() && config.task.empty()))
    fail_input("window and split are of lines, not of a text or a task");
  if ((config.task_length != 0 || config.task_symbols != 0) &&
      config.task.empty())
    fail_input("task_length and task_symbols need a task");
}

}  // namespace

Dataset::~Dataset() = default;

std::unique_ptr<Dataset> open(const DataConfig& config,
                              const OpenOptions& options, TorchRng& rng) {
  check(config);
  const DataKind* chosen = nullptr;
  for (const DataKind& kind : kKinds) {
    if ((config.*kind.source).empty()) continue;
    if (chosen)
      fail_input("both {} ({}) and {} ({}) are given: train on one of them",
                 chosen->name, config.*chosen->source, kind.name,
                 config.*kind.source);
    chosen = &kind;
  }
  return (chosen ? chosen->open : open_words)(config, options, rng);
}

}  // namespace qkv::data
