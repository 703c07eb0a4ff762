// log.jsonl of a run: one object a line, appended to over every resume.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "core/json.h"
#include "qkv/train.h"

namespace qkv::cli {

class RunLog : public TrainObserver {
 public:
  // Opens for appending and holds a lock on it; a last line that a crash cut
  // short is taken off. Throws when another training holds the lock.
  explicit RunLog(const std::string& path);
  ~RunLog() override;
  RunLog(RunLog&&) = default;

  // Empties it, keeping the lock.
  void begin_again();

  void on_start(const Trainer& trainer) override;
  void on_step(const TrainStep& event) override;
  void on_evaluation(const TrainEvaluation& event) override;
  void on_saved(const TrainSaved& event) override;
  void on_end(const Trainer& trainer, TrainEnd reason) override;
  void sample(std::int64_t step, const std::string& text);

 private:
  void write(const nlohmann::ordered_json& object);

  std::string path_;
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

// The lines of a log; of a step that stands twice (a resume from before it) the
// later one counts. Throws naming file and line.
std::vector<nlohmann::json> read_run_log(const std::string& path);

}  // namespace qkv::cli
