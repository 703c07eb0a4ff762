// Configurations as TOML: sections of flat fields.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace qkv::cli {

// A TOML file as JSON. Throws naming file, line and what is wrong.
nlohmann::json read_toml(const std::string& path);
// {"train": {"lr": 0.001}} -> "[train]\nlr = 0.001\n".
std::string to_toml(const nlohmann::ordered_json& sections);

}  // namespace qkv::cli
