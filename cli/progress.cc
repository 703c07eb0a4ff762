#include "cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "cli/terminal.h"

namespace qkv::cli {
namespace {

constexpr double kKeep = 0.95;  // of the moving averages
constexpr auto kRedrawEvery = std::chrono::milliseconds(100);
constexpr auto kPlainEvery = std::chrono::seconds(10);

}  // namespace

Progress::Progress()
    : live_(can_redraw(STDERR_FILENO)), last_validation_(std::nan("")) {}

void Progress::on_start(const Trainer& trainer) {
  last_plain_ = Clock::now();
  vocab_size_ = trainer.dataset().tokenizer().vocab_size();
}

std::string Progress::line(const TrainStep& e) const {
  const int width = columns();  // asked each time: windows change
  const double seconds = smooth_seconds_ / time_weight_;
  const double left = seconds * static_cast<double>(e.steps - e.step);
  const double loss = smooth_loss_ / weight_;
  std::string text = fmt::format(
      "step {}/{} {:.0f}%  loss {:.4f}", e.step, e.steps,
      100.0 * static_cast<double>(e.step) / static_cast<double>(e.steps), loss);
  if (live_ && static_cast<int>(text.size()) >= width)
    return fmt::format("{} {:.4f}", e.step, loss);
  // What is least needed comes last: a narrow terminal leaves it out.
  const auto append = [&](const std::string& part) {
    if (!live_ || static_cast<int>(text.size() + part.size()) < width)
      text += part;
  };
  if (!std::isnan(last_validation_))
    append(fmt::format("  val {:.4f}", last_validation_));
  append(fmt::format("  ETA {}", duration_text(left)));
  append(fmt::format("  {:.1f} ms/step", seconds * 1e3));
  append(fmt::format("  {} tok/s",
                     short_count(static_cast<double>(e.tokens) / seconds)));
  append(fmt::format("  lr {:.2e}", e.lr));
  append(fmt::format("  |g| {:.2f}", e.grad_norm));
  append(fmt::format("  {}", duration_text(e.elapsed)));
  return text;
}

void Progress::on_step(const TrainStep& e) {
  smooth_loss_ = kKeep * smooth_loss_ + (1 - kKeep) * e.loss;
  weight_ = kKeep * weight_ + (1 - kKeep);
  // The first step warms caches up: it would spoil the estimate.
  if (first_step_ < 0) first_step_ = e.step;
  if (e.step > first_step_ || time_weight_ == 0) {
    if (e.step == first_step_ + 1) smooth_seconds_ = time_weight_ = 0;
    smooth_seconds_ = kKeep * smooth_seconds_ + (1 - kKeep) * e.seconds;
    time_weight_ = kKeep * time_weight_ + (1 - kKeep);
  }
  const auto now = Clock::now();
  if (live_) {
    if (now - last_drawn_ < kRedrawEvery && e.step != e.steps) return;
    last_drawn_ = now;
    redraw(line(e));
  } else if (now - last_plain_ >= kPlainEvery) {
    last_plain_ = now;
    note(line(e));
  }
}

void Progress::on_evaluation(const TrainEvaluation& e) {
  last_validation_ = e.validation_loss;
  clear();
  std::string text =
      fmt::format("step {}: train loss {:.4f}", e.step, e.train_loss);
  if (!std::isnan(e.validation_loss))
    text += fmt::format(", validation loss {:.4f}{}", e.validation_loss,
                        e.best && e.step > 0 ? " (best so far)" : "");
  // An untrained model should do about as well as guessing.
  if (e.step == 0)
    text += fmt::format("; guessing: ln {} = {:.4f}", vocab_size_,
                        std::log(static_cast<double>(vocab_size_)));
  note(text);
  last_plain_ = Clock::now();
}

void Progress::on_end(const Trainer&, TrainEnd) { clear(); }

void Progress::redraw(const std::string& text) {
  const auto room = static_cast<std::size_t>(std::max(columns() - 1, 0));
  to_stderr("\r\033[2K" + text.substr(0, room));
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  to_stderr("\r\033[2K");
  drawn_ = false;
}

}  // namespace qkv::cli
