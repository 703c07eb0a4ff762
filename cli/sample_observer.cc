#include "cli/sample_observer.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/draw_sample.h"
#include "cli/terminal.h"
#include "core/check.h"

namespace qkv::cli {
SampleObserver::SampleObserver(std::int64_t every, RunLog& log,
                               std::function<void()> before_print)
    : every_(every), log_(log), before_print_(std::move(before_print)) {}

void SampleObserver::on_start(const Trainer& trainer) { trainer_ = &trainer; }

void SampleObserver::on_step(const TrainStep& event) {
  if (every_ <= 0 || event.step % every_ != 0) return;
  const data::Dataset& dataset = trainer_->dataset();
  const bool items = dataset.tokenizer().stop_token().has_value();
  std::string text;
  for (std::int64_t i = 0; i < (items ? 5 : 1); ++i)
    text +=
        (i > 0 ? ", " : "") + judged_sample(trainer_->model(), dataset, i, 120);
  before_print_();
  note(fmt::format("step {}: {}{}", event.step, items ? "" : "\n", text));
  log_.sample(event.step, text);
  const std::string path =
      (std::filesystem::path(trainer_->directory()) / "samples.txt").string();
  std::ofstream file(path, std::ios::app);
  file << "step " << event.step << "\n" << text << "\n\n";
  if (!file.flush())
    fail_io("{}: writing failed: {}", path, std::strerror(errno));
}

}  // namespace qkv::cli
