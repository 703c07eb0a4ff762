#include "cli/run_log.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "core/check.h"
#include "core/json.h"
#include "qkv/runtime.h"

namespace qkv::cli {
namespace {

using nlohmann::ordered_json;

ordered_json number(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

double now() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Cuts off what follows the last newline.
void drop_unfinished_line(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error || size == 0) return;
  std::ifstream file(path, std::ios::binary);
  std::uintmax_t keep = size;
  for (; keep > 0; --keep) {
    file.seekg(static_cast<std::streamoff>(keep - 1));
    if (file.get() == '\n') break;
  }
  if (keep != size) std::filesystem::resize_file(path, keep, error);
}

}  // namespace

RunLog::RunLog(const std::string& path) : path_(path) {
  // O_NONBLOCK: a pipe that nobody reads must not hang; it is refused below.
  const int file =
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK,
           0666);
  if (file < 0)
    fail_io("{}: cannot be written: {}", path, std::strerror(errno));
  file_.reset(fdopen(file, "a"));
  if (!file_) {
    close(file);
    fail_io("{}: cannot be written: {}", path, std::strerror(errno));
  }
  struct stat status;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
    fail_io("{}: cannot be written: it is no regular file", path);
  // Held until the process ends: two trainings in one folder would overwrite
  // each other's checkpoints.
  if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    fail_input(
        "{}: another training writes to this folder now: name another "
        "one by --out",
        path);
  drop_unfinished_line(path);
}

RunLog::~RunLog() = default;

void RunLog::begin_again() {
  if (ftruncate(fileno(file_.get()), 0) != 0)
    fail_io("{}: cannot be emptied: {}", path_, std::strerror(errno));
}

void RunLog::write(const ordered_json& object) {
  const std::string line = json_line(object) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() ||
      std::fflush(file_.get()) != 0)
    fail_io("{}: writing failed: {}", path_, std::strerror(errno));
}

void RunLog::on_start(const Trainer& trainer) {
  write({{"type", "start"},
         {"time", now()},
         {"version", kVersion},
         {"step", trainer.steps_done()},
         {"steps", trainer.config().steps},
         {"vocab_size", trainer.model().vocab_size()},
         {"parameters", trainer.model().parameter_count()},
         {"threads", runtime::threads()},
         {"instruction_set", runtime::instruction_set()}});
}

void RunLog::on_step(const TrainStep& e) {
  write({{"type", "train"},
         {"step", e.step},
         {"loss", number(e.loss)},
         {"lr", e.lr},
         {"grad_norm", number(e.grad_norm)},
         {"ms", e.seconds * 1e3},
         {"elapsed", e.elapsed},
         {"tokens", e.tokens_seen}});
}

void RunLog::on_evaluation(const TrainEvaluation& e) {
  write({{"type", "eval"},
         {"step", e.step},
         {"train_loss", number(e.train_loss)},
         {"validation_loss", number(e.validation_loss)},
         {"best", e.best},
         {"ms", e.seconds * 1e3}});
}

void RunLog::on_saved(const TrainSaved& e) {
  write({{"type", "checkpoint"}, {"step", e.step}, {"path", e.path}});
}

void RunLog::on_end(const Trainer& trainer, TrainEnd reason) {
  static constexpr const char* kReasons[] = {"finished", "stopped",
                                             "out of time", "interrupted"};
  write({{"type", "end"},
         {"time", now()},
         {"step", trainer.steps_done()},
         {"reason", kReasons[static_cast<int>(reason)]},
         {"best_validation_loss", number(trainer.best_validation_loss())},
         {"best_step", trainer.best_step()}});
}

void RunLog::sample(std::int64_t step, const std::string& text) {
  write({{"type", "sample"}, {"step", step}, {"text", text}});
}

std::vector<nlohmann::json> read_run_log(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    fail_input("{}: cannot be read: it is a directory", path);
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_input("{}: cannot be read: {}", path, std::strerror(errno));
  std::vector<nlohmann::json> lines;
  std::string text;
  for (std::int64_t number = 1; std::getline(file, text); ++number) {
    if (file.eof()) break;  // no newline: a crash cut it short
    nlohmann::json object =
        parse_json(text, fmt::format("{}: line {}", path, number));
    if (!object.is_object() || !object.contains("type") ||
        !object["type"].is_string() ||
        (object.contains("step") && !object["step"].is_number_integer()))
      fail_input("{}: line {}: not an event of a run", path, number);
    // A resume goes on from a checkpoint: what an earlier process logged
    // beyond it did not happen.
    if (object["type"] == "start" && object.contains("step")) {
      const auto from = object["step"].get<std::int64_t>();
      std::erase_if(lines, [&](const nlohmann::json& line) {
        return line.contains("step") && line["type"] != "start" &&
               line["step"].get<std::int64_t>() > from;
      });
    }
    lines.push_back(std::move(object));
  }
  return lines;
}

}  // namespace qkv::cli
