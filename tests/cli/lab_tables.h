// The tables that an experiment prints, read as a program would.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/json.h"
#include "tests/support/program.h"

namespace qkv::test {

inline nlohmann::json tables_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "lab");
  arguments.emplace_back("--json");
  const Ran ran = run_qkv(arguments);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return nlohmann::json::parse(ran.out)["tables"];
}

inline double number(const nlohmann::json& cell) {
  return std::stod(cell.get<std::string>());
}

}  // namespace qkv::test
