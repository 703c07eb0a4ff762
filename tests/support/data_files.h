// Data sets that a test may use but a fresh clone has not.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace qkv::test {

// Where `name` lies: in $QKV_DATA_DIR, else in ../shared/data beside the
// source. The test skips when it is not there:
//   if (!exists(path)) GTEST_SKIP() << path << " is missing";
inline std::filesystem::path data_file(const std::string& name) {
  const char* dir = std::getenv("QKV_DATA_DIR");
  if (dir && *dir) return std::filesystem::path(dir) / name;
  return std::filesystem::path(QKV_SOURCE_DIR) / "../shared/data" / name;
}

}  // namespace qkv::test
