#include "cli/run_options.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <charconv>

#include "cli/command_page.h"
#include "core/check.h"
#include "core/fields_json.h"
#include "core/json.h"
#include "qkv/error.h"
#include "qkv/runtime.h"

namespace qkv::cli {

CLI::Option* add_run(CLI::App& app, std::string& path) {
  return app
      .add_option("RUN", path, "Folder of a training run, or a checkpoint file")
      ->required()
      ->type_name("RUN");
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  return CLI::Validator(
      [least, most](std::string& text) -> std::string {
        std::int64_t value = 0;
        const char* end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, value);
        // Written twice the same way: "-0" and "007" are not.
        if (read.ec == std::errc() && read.ptr == end && value >= least &&
            value <= most && std::to_string(value) == text)
          return "";
        return fmt::format("must be a whole number from {} to {}, not '{}'",
                           least, most, text);
      },
      "");
}

CLI::Option* choose(CLI::Option* option,
                    const std::vector<std::string>& names) {
  const auto check = [names](std::string& text) -> std::string {
    if (std::find(names.begin(), names.end(), text) != names.end()) return "";
    return fmt::format("must be one of {}, not '{}'{}", fmt::join(names, ", "),
                       text, did_you_mean(text, names));
  };
  return option->check(CLI::Validator(check, ""))
      ->type_name(fmt::format("{}", fmt::join(names, "|")));
}

CLI::Option* add_threads(CLI::App& app, int& threads) {
  return app
      .add_option("--threads", threads,
                  "Threads to compute with, 0: all that this process may use")
      ->group(kCommonGroup)
      ->check(whole_number(0, 1024))
      ->type_name("N");
}

void use_threads(int threads) {
  if (threads > 0) runtime::set_threads(threads);
}

std::vector<std::int64_t> prompt_ids(const Tokenizer& tokenizer,
                                     const std::string& prompt,
                                     std::string_view option) {
  try {
    return encode_prompt(tokenizer, prompt);
  } catch (const Error& error) {
    fail_input("{}: {}", option, error.what());
  }
}

std::unique_ptr<data::Dataset> reopen_data(const Bundle& bundle,
                                           std::string& why) {
  try {
    const auto info = parse_json(bundle.data, bundle.path + ": data");
    data::DataConfig config;
    fields_from_json(
        json_value(info, "config", nlohmann::json::object(), bundle.path),
        [&](FieldVisitor& visitor) { visit_fields(visitor, config); },
        bundle.path + ": data");
    // The split is drawn from the run's seed, as it was then.
    TorchRng rng(static_cast<std::uint64_t>(
        json_value(info, "seed", std::int64_t{0}, bundle.path)));
    auto dataset =
        data::open(config,
                   {.block_size = json_value(info, "block_size",
                                             std::int64_t{64}, bundle.path),
                    .tokenizer = bundle.tokenizer},
                   rng);
    if (dataset->tokenizer().to_json() != bundle.tokenizer->to_json()) {
      why = "the data changed since the training: it has other tokens now";
      return nullptr;
    }
    return dataset;
  } catch (const Error& error) {
    why = error.what();
    return nullptr;
  }
}

}  // namespace qkv::cli
