// Options that several subcommands share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli11_fwd.h"
#include "qkv/bundle.h"
#include "qkv/data.h"

namespace qkv::cli {

// The RUN argument: a run's folder or a checkpoint.
CLI::Option* add_run(CLI::App& app, std::string& path);
// A check for an option that takes a whole number: CLI11 alone takes '0x10' and
// '010', and cuts what does not fit down to what does.
CLI::Validator whole_number(std::int64_t least, std::int64_t most);
inline constexpr std::int64_t kAnyCount =
    std::numeric_limits<std::int64_t>::max();

// Of layers or of heads in a layer: more than any model has.
inline constexpr std::int64_t kMostHeads = 1 << 30;

// An option that takes one of a few names.
CLI::Option* choose(CLI::Option* option, const std::vector<std::string>& names);

// The same for the names of an enumeration (EnumNames), and the value of one
// that was chosen.
template <class Enum>
CLI::Option* choose(CLI::Option* option) {
  const auto& names = EnumNames<Enum>::names;
  return choose(option, {std::begin(names), std::end(names)});
}
template <class Enum>
Enum chosen(std::string_view name) {
  const auto& names = EnumNames<Enum>::names;
  return static_cast<Enum>(std::find(std::begin(names), std::end(names), name) -
                           std::begin(names));
}

// --threads; apply after parsing.
CLI::Option* add_threads(CLI::App& app, int& threads);
void use_threads(int threads);

// A prompt as ids: the start token, if the data has one, then the text. A run
// over items without a prompt begins at the start token; running text begins at
// its first token (a line break in most texts). An error names the option.
std::vector<std::int64_t> prompt_ids(const Tokenizer& tokenizer,
                                     const std::string& prompt,
                                     std::string_view option = "--prompt");

// The data that a model was trained on, opened again; none, with the reason in
// why, when it is not there any more.
std::unique_ptr<data::Dataset> reopen_data(const Bundle& bundle,
                                           std::string& why);

}  // namespace qkv::cli
