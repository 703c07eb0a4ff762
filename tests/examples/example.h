// Running an example, as a reader of it would.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/project/shell.h"

namespace qkv::project {

// The lines it prints; the test fails where it does.
inline std::vector<std::string> run_example(const std::string& name,
                                            const std::string& argument = "") {
  const Result result = shell("'" + std::string(QKV_BINARY_DIR) +
                              "/bin/example_" + name + "' " + argument);
  EXPECT_EQ(result.status, 0) << result.output;
  std::vector<std::string> lines;
  std::istringstream in(result.output);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The numbers of a line, whatever stands between them.
inline std::vector<double> numbers_in(std::string line) {
  for (char& c : line)
    if (std::string_view("0123456789.").find(c) == std::string_view::npos)
      c = ' ';
  std::vector<double> numbers;
  std::istringstream in(line);
  for (double x; in >> x;) numbers.push_back(x);
  return numbers;
}

}  // namespace qkv::project
