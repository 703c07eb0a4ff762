#include "cli/loss_plot.h"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <utility>

#include "cli/picture_file.h"
#include "cli/run_folder.h"
#include "cli/run_log.h"
#include "cli/terminal.h"
#include "core/json.h"
#include "qkv/error.h"
#include "qkv/plot.h"

namespace qkv::cli {

plot::LossCurve loss_curve_of(const std::string& directory) {
  namespace fs = std::filesystem;
  plot::LossCurve curve;
  double vocab_size = std::nan("");
  curve.title = run_name(directory);
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
    if (type == "start") {
      curve.last_x = number(line, "steps");
      vocab_size = number(line, "vocab_size");
    }
  }
  const double uniform = std::log(vocab_size);
  curve.levels.push_back(
      {uniform, fmt::format("ln {} = {:.3f}, guessing", vocab_size, uniform)});
  return curve;
}

void draw_loss(const std::string& directory) {
  write_picture((std::filesystem::path(directory) / "loss.svg").string(),
                plot::loss_curve(loss_curve_of(directory)));
}

void LossPlot::on_start(const Trainer& trainer) {
  directory_ = trainer.directory();
}

void LossPlot::on_evaluation(const TrainEvaluation& event) {
  const auto now = std::chrono::steady_clock::now();
  if (event.step == 0 || now - last_ < std::chrono::seconds(10)) return;
  last_ = now;
  draw();
}

void LossPlot::on_end(const Trainer&, TrainEnd) { draw(); }

// A picture is no reason to end a training.
void LossPlot::draw() {
  try {
    draw_loss(directory_);
  } catch (const Error& error) {
    if (!std::exchange(told_, true))
      note(fmt::format("loss.svg is not drawn: {}", error.what()));
  }
}

}  // namespace qkv::cli
