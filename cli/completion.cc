// qkv completion: what a shell needs to complete command lines.
#include "cli/completion.h"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>

#include "cli/run_options.h"

namespace qkv::cli {
namespace {

struct Options {
  std::string shell;
};

int run(const Options& options) {
  const auto pages = all_pages();
  fmt::print("{}", options.shell == "bash"  ? bash_completion(pages)
                   : options.shell == "zsh" ? zsh_completion(pages)
                                            : fish_completion(pages));
  return kDone;
}

const RegisterCommand kCompletion({
    .name = "completion",
    .purpose = Purpose::program,
    .help = "Print what bash, zsh or fish need to complete a command line",
    .examples = {{"For this bash", "source <(qkv completion bash)"},
                 {"For every zsh, in a folder of its fpath",
                  "qkv completion zsh > _qkv"},
                 {"For every fish",
                  "qkv completion fish > ~/.config/fish/completions/qkv.fish"}},
    .setup =
        [](CLI::App& app) {
          auto options = std::make_shared<Options>();
          choose(app.add_option("SHELL", options->shell, "The shell"),
                 {"bash", "zsh", "fish"})
              ->required();
          return [options] { return run(*options); };
        },
});

}  // namespace

Offer offer_for(const OptionPage& option) {
  const std::string& value = option.value;
  Offer offer;
  offer.choices = option.choices();
  if (value == "COMMAND")
    for (const Command& command : commands())
      offer.choices.push_back(command.name);
  // "window:N": what is to be written follows.
  for (std::string& choice : offer.choices)
    if (const auto colon = choice.find(':'); colon != choice.npos)
      choice.erase(colon + 1);
  constexpr std::string_view kFile = "FILE";
  if (!offer.choices.empty()) {
    offer.kind = Offer::words;
  } else if (value.starts_with(kFile)) {
    offer.kind = Offer::files;
    offer.ending = value.substr(kFile.size());
  } else if (value == "DIR") {
    offer.kind = Offer::folders;
  } else if (value == "RUN") {
    offer.kind = Offer::runs;
  }
  return offer;
}

std::vector<CommandPage> all_pages() {
  std::vector<CommandPage> pages;
  for (const Command& command : commands()) pages.push_back(page_of(command));
  return pages;
}

}  // namespace qkv::cli
