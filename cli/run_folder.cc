#include "cli/run_folder.h"

#include <filesystem>

#include "core/check.h"

namespace qkv::cli {

namespace fs = std::filesystem;

void prepare_folder(const std::string& folder, bool overwrite) {
  std::error_code error;
  if (fs::exists(fs::path(folder) / "last.safetensors", error)) {
    if (!overwrite)
      fail_input(
          "{} holds a run already: go on with it by --resume {}, name "
          "another folder by --out, or replace it by --overwrite",
          folder, folder);
    for (const char* name :
         {"last.safetensors", "best.safetensors", "log.jsonl", "config.toml",
          "loss.svg", "samples.txt"})
      fs::remove(fs::path(folder) / name, error);
    fs::remove_all(fs::path(folder) / "attention", error);
  }
  fs::create_directories(folder, error);
  if (error) fail_io("{}: cannot be made: {}", folder, error.message());
}

}  // namespace qkv::cli
