#include "cli/loss_plot.h"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>

#include "cli/picture_file.h"
#include "cli/run_log.h"
#include "qkv/plot.h"

namespace qkv::cli {

void draw_loss(const std::string& directory, std::int64_t vocab_size) {
  namespace fs = std::filesystem;
  plot::LossCurve curve;
  curve.title = fs::path(directory).lexically_normal().filename().string();
  curve.about = "loss of the training run " + curve.title;
  const auto number = [](const nlohmann::json& line, const char* name) {
    const auto it = line.find(name);
    return it != line.end() && it->is_number() ? it->get<double>()
                                               : std::nan("");
  };
  for (const auto& line :
       read_run_log((fs::path(directory) / "log.jsonl").string())) {
    const std::string type = line["type"].get<std::string>();
    const double step = number(line, "step");
    if (type == "train") curve.train.push_back({step, number(line, "loss")});
    if (type == "eval" && !std::isnan(number(line, "validation_loss")))
      curve.validation.push_back({step, number(line, "validation_loss")});
    if (type == "start") curve.last_x = number(line, "steps");
  }
  const double uniform = std::log(static_cast<double>(vocab_size));
  curve.levels.push_back(
      {uniform, fmt::format("ln {} = {:.3f}, guessing", vocab_size, uniform)});
  write_picture((fs::path(directory) / "loss.svg").string(),
                plot::loss_curve(curve));
}

void LossPlot::on_start(const Trainer& trainer) {
  directory_ = trainer.directory();
  vocab_size_ = trainer.dataset().tokenizer().vocab_size();
}

void LossPlot::on_evaluation(const TrainEvaluation& event) {
  const auto now = std::chrono::steady_clock::now();
  if (event.step == 0 || now - last_ < std::chrono::seconds(10)) return;
  last_ = now;
  draw_loss(directory_, vocab_size_);
}

void LossPlot::on_end(const Trainer&, TrainEnd) {
  draw_loss(directory_, vocab_size_);
}

}  // namespace qkv::cli
