#include "cli/replaced_run.h"

#include <array>
#include <filesystem>

#include "core/check.h"

namespace qkv::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::array kParts{"last.safetensors", "best.safetensors",
                            "config.toml",      "loss.svg",
                            "samples.txt",      "attention"};
constexpr const char* kLog = "log.jsonl";

fs::path aside(const std::string& folder) {
  return fs::path(folder) / ".replaced";
}

void put_back(const std::string& folder) {
  std::error_code ignored;
  for (const char* part : kParts) {
    fs::remove_all(fs::path(folder) / part, ignored);
    fs::rename(aside(folder) / part, fs::path(folder) / part, ignored);
  }
  // Written over, not renamed: the lock is on the file that is there.
  fs::copy_file(aside(folder) / kLog, fs::path(folder) / kLog,
                fs::copy_options::overwrite_existing, ignored);
  fs::remove_all(aside(folder), ignored);
}

}  // namespace

ReplacedRun::ReplacedRun(const std::string& folder)
    : folder_(folder),
      waiting_(fs::exists(fs::path(folder) / "last.safetensors") ||
               fs::exists(aside(folder))) {
  if (!waiting_) return;
  if (fs::exists(aside(folder))) put_back(folder);
  std::error_code error;
  fs::create_directory(aside(folder), error);
  if (!error)
    fs::copy_file(fs::path(folder) / kLog, aside(folder) / kLog, error);
  if (error)
    fail_io("{}: cannot be made: {}", aside(folder).string(), error.message());
  for (const char* part : kParts)
    fs::rename(fs::path(folder) / part, aside(folder) / part, error);
}

ReplacedRun::~ReplacedRun() {
  if (waiting_) put_back(folder_);
}

void ReplacedRun::on_saved(const TrainSaved&) {
  if (!waiting_) return;
  waiting_ = false;
  std::error_code ignored;
  fs::remove_all(aside(folder_), ignored);
}

}  // namespace qkv::cli
