#include "cli/written_pages.h"

#include <filesystem>

#include "cli/completion.h"
#include "cli/man_page.h"
#include "core/check.h"
#include "qkv/io.h"

namespace qkv::cli {

void write_pages(const std::string& folder) {
  const std::filesystem::path man = std::filesystem::path(folder) / "man";
  const auto completions = std::filesystem::path(folder) / "completions";
  for (const auto& made : {man, completions}) {
    std::error_code error;
    std::filesystem::create_directories(made, error);
    if (error)
      fail_io("{}: cannot be made: {}", made.string(), error.message());
  }
  const auto pages = all_pages();
  io::write_file((man / "qkv.1").string(), man_overview());
  for (const CommandPage& page : pages)
    io::write_file((man / ("qkv-" + page.command->name + ".1")).string(),
                   man_page(page));
  io::write_file((completions / "qkv.bash").string(), bash_completion(pages));
  io::write_file((completions / "_qkv").string(), zsh_completion(pages));
  io::write_file((completions / "qkv.fish").string(), fish_completion(pages));
}

}  // namespace qkv::cli
