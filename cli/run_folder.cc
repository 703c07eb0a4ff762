#include "cli/run_folder.h"

#include <filesystem>

#include "core/check.h"

namespace qkv::cli {

RunLog open_run_folder(const std::string& folder, bool overwrite) {
  namespace fs = std::filesystem;
  const fs::path path = folder;
  std::error_code error;
  const bool holds_run = fs::exists(path / "last.safetensors", error);
  if (holds_run && !overwrite)
    fail_input(
        "{} holds a run already: go on with it by --resume {}, name "
        "another folder by --out, or replace it by --overwrite",
        folder, folder);
  fs::create_directories(path, error);
  if (error) fail_io("{}: cannot be made: {}", folder, error.message());
  RunLog log((path / "log.jsonl").string());
  if (holds_run) {
    for (const char* name : {"last.safetensors", "best.safetensors",
                             "config.toml", "loss.svg", "samples.txt"})
      fs::remove(path / name, error);
    fs::remove_all(path / "attention", error);
    log.begin_again();
  }
  return log;
}

std::string run_name(const std::string& folder) {
  const auto path = std::filesystem::absolute(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

}  // namespace qkv::cli
