#include "cli/config_options.h"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <algorithm>

#include "core/json.h"

namespace qkv::cli {
namespace {

// Adds one option a field.
class AddOptions final : public FieldVisitor {
 public:
  std::function<void(const Field&, const std::string& value,
                     const std::string& kind)>
      add;

  void visit(std::int64_t& v, const Field& f) override {
    add(f, std::to_string(v), "N");
  }
  void visit(double& v, const Field& f) override {
    add(f, fmt::format("{:g}", v), "X");
  }
  void visit(bool& v, const Field& f) override {
    add(f, v ? "true" : "false", "true|false");
  }
  void visit(std::string& v, const Field& f) override { add(f, v, "TEXT"); }
  void visit_choice(int& index, std::span<const std::string_view> names,
                    const Field& f) override {
    std::string choices;
    for (std::string_view name : names)
      choices += (choices.empty() ? "" : "|") + std::string(name);
    add(f, std::string(names[index]), choices);
  }
};

}  // namespace

std::string option_name(std::string_view field) {
  std::string name = "--" + std::string(field);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

void ConfigOptions::add(CLI::App& app, const std::string& group,
                        const Visit& defaults,
                        const std::vector<std::string>& leave_out) {
  AddOptions visitor;
  visitor.add = [&](const Field& field, const std::string& value,
                    const std::string& kind) {
    const std::string name(field.name);
    if (options_.contains(name) ||
        std::find(leave_out.begin(), leave_out.end(), name) != leave_out.end())
      return;
    CLI::Option* option =
        app.add_option(option_name(name), text_[name], std::string(field.help));
    option->group(group)->type_name(kind);
    option->default_str(value);
    option->run_callback_for_default(false);
    options_[name] = option;
  };
  defaults(visitor);
}

bool ConfigOptions::given(const std::string& field) const {
  const auto it = options_.find(field);
  return it != options_.end() && it->second->count() > 0;
}

void ConfigOptions::apply(const Visit& config) const {
  const auto known = fields_to_json(config);
  nlohmann::json values = nlohmann::json::object();
  for (const auto& [name, option] : options_)
    if (option->count() > 0 && known.contains(name))
      values[name] = field_from_text(option->as<std::string>(), name, config,
                                     option_name(name));
  fields_from_json(values, config, "options");
}

std::vector<std::string> ConfigOptions::foreign(
    const std::vector<Visit>& configs) const {
  std::vector<std::string> names;
  for (const auto& [name, option] : options_) {
    if (option->count() == 0) continue;
    bool known = false;
    for (const Visit& visit : configs)
      known |= fields_to_json(visit).contains(name);
    if (!known) names.push_back(name);
  }
  return names;
}

}  // namespace qkv::cli
