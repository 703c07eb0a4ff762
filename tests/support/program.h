// Runs the built program as a user would.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace qkv::test {

struct Ran {
  int code = 0;  // exit status; -signal when a signal ended it
  std::string out, err;
};

struct How {
  std::string folder = {};  // to run in; empty: where the test runs
  std::map<std::string, std::string> environment = {};  // over the test's own
  int signal = 0;  // sent when `signal_after` stands on stderr
  std::string signal_after = {};
  std::string out_path = {};     // standard output goes to this file instead
  std::vector<int> closed = {};  // of 0, 1 and 2
  std::int64_t most_file_bytes = -1;  // as by ulimit -f; -1: no limit
  // Standard output and error are terminals of so many columns; 0: pipes. Line
  // breaks come as they were written.
  int terminal = 0;
  int resized = 0;  // the width when `resized_after` stands on stderr
  std::string resized_after = {};
};

Ran run_qkv(const std::vector<std::string>& arguments, const How& how = {});
// A command line of bash, in which qkv is the built program.
Ran run_shell(const std::string& command, const How& how = {});

}  // namespace qkv::test
