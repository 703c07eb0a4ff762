#include "cli/sample_observer.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/terminal.h"
#include "core/check.h"
#include "qkv/generate.h"

namespace qkv::cli {

std::vector<std::string> draw_samples(LanguageModel& model,
                                      const Tokenizer& tokenizer, int count,
                                      std::int64_t tokens, std::uint64_t seed) {
  std::vector<std::string> samples;
  for (int i = 0; i < count; ++i) {
    generate::Request request;
    request.prompt = {tokenizer.start_token().value_or(0)};
    request.max_tokens = tokens;
    if (tokenizer.stop_token()) request.stop = {*tokenizer.stop_token()};
    request.options.seed = seed + static_cast<std::uint64_t>(i);
    request.vocab_size = tokenizer.vocab_size();
    samples.push_back(tokenizer.decode(generate::generate(model, request)));
  }
  return samples;
}

SampleObserver::SampleObserver(std::int64_t every, RunLog& log,
                               std::function<void()> before_print)
    : every_(every), log_(log), before_print_(std::move(before_print)) {}

void SampleObserver::on_start(const Trainer& trainer) { trainer_ = &trainer; }

void SampleObserver::on_step(const TrainStep& event) {
  if (every_ <= 0 || event.step % every_ != 0) return;
  const Tokenizer& tokenizer = trainer_->dataset().tokenizer();
  const bool items = tokenizer.stop_token().has_value();
  const auto samples =
      draw_samples(trainer_->model(), tokenizer, items ? 5 : 1,
                   items ? trainer_->model().block_size() : 120, 1);
  std::string text;
  for (const std::string& sample : samples)
    text += (text.empty() ? "" : items ? ", " : "\n") + sample;
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
