// The fields of a configuration as command line options.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "cli/cli11_fwd.h"
#include "core/fields_json.h"

namespace qkv::cli {

// Adds --field-name for every field; what was given on the command line is
// applied later, over whatever preset or file came first.
class ConfigOptions {
 public:
  using Visit = std::function<void(FieldVisitor&)>;

  // defaults shows the fields' defaults in --help. Fields in `leave_out` get no
  // option.
  void add(CLI::App& app, const std::string& group, const Visit& defaults,
           const std::vector<std::string>& leave_out = {});

  // The option of a field, to say more of it.
  CLI::Option* at(const std::string& field) const { return options_.at(field); }

  // Sets the fields of config whose options were given. Throws naming option
  // and value. Options of fields that config does not have are an error.
  void apply(const Visit& config) const;
  bool given(const std::string& field) const;
  // The fields given, that config does not have.
  std::vector<std::string> foreign(const std::vector<Visit>& configs) const;

 private:
  std::map<std::string, std::string> text_;  // field name -> what was written
  std::map<std::string, CLI::Option*> options_;
};

// "n_layer" -> "--n-layer".
std::string option_name(std::string_view field);

}  // namespace qkv::cli
