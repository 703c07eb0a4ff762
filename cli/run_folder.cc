#include "cli/run_folder.h"

#include <filesystem>

#include "core/check.h"

namespace qkv::cli {

namespace fs = std::filesystem;
namespace {

bool holds_run(const std::string& folder) {
  std::error_code error;
  return fs::exists(fs::path(folder) / "last.safetensors", error);
}

}  // namespace

void check_run_folder(const std::string& folder, bool overwrite) {
  if (holds_run(folder) && !overwrite)
    fail_input(
        "{} holds a run already: go on with it by qkv train --resume {}, name "
        "another folder by --out, or replace it by --overwrite",
        folder, folder);
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    fail_io("{}: is there and no folder; name another by --out", folder);
}

RunLog open_run_folder(const std::string& folder, bool overwrite) {
  check_run_folder(folder, overwrite);
  const bool held_run = holds_run(folder);
  const fs::path path = folder;
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail_io("{}: cannot be made: {}", folder, error.message());
  RunLog log((path / "log.jsonl").string());
  if (held_run) {
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
