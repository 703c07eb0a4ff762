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

RunFolder open_run_folder(const std::string& folder, bool overwrite) {
  check_run_folder(folder, overwrite);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_io("{}: cannot be made: {}", folder, error.message());
  RunFolder opened{RunLog((fs::path(folder) / "log.jsonl").string()), nullptr};
  opened.replaced = std::make_unique<ReplacedRun>(folder);
  opened.log.begin_again();
  return opened;
}

std::string run_name(const std::string& folder) {
  const auto path = std::filesystem::absolute(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

}  // namespace qkv::cli
