// Running the project's own scripts, and the files that it is made of.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/files.h"

namespace qkv::project {

namespace fs = std::filesystem;
using test::read_bytes;
using test::TempFolder;

inline const fs::path kSource = QKV_SOURCE_DIR;

struct Result {
  int status;          // exit status, or 128 + signal
  std::string output;  // standard output and error together
};

inline Result shell(const std::string& command) {
  FILE* pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen failed");
  Result result;
  std::array<char, 4096> buffer;
  std::size_t n = 0;
  while ((n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0)
    result.output.append(buffer.data(), n);
  const int status = pclose(pipe);
  result.status =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

inline void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// The files of the project, as paths below its root: what git tracks, or where
// there is no git, all but what is built or run there.
inline std::vector<fs::path> project_files() {
  std::vector<fs::path> files;
  const Result git = shell("git -C '" + kSource.string() +
                           "' ls-files --cached --others "
                           "--exclude-standard");
  if (git.status == 0) {
    std::size_t begin = 0;
    for (std::size_t end = 0;
         (end = git.output.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      const fs::path file = git.output.substr(begin, end - begin);
      if (fs::is_regular_file(kSource / file)) files.push_back(file);
    }
    return files;
  }
  for (fs::recursive_directory_iterator i(kSource), end; i != end; ++i) {
    const std::string name = i->path().filename().string();
    const bool top = i.depth() == 0;
    if (name == ".git" || (top && (name.rfind("build", 0) == 0 ||
                                   name == "runs" || name == "shared")))
      i.disable_recursion_pending();
    else if (i->is_regular_file())
      files.push_back(fs::relative(i->path(), kSource));
  }
  return files;
}

inline bool is_source(const fs::path& file) {
  return file.extension() == ".cc" || file.extension() == ".h";
}

}  // namespace qkv::project
