#include "cli/picture_file.h"

#include <filesystem>

#include "qkv/io.h"

namespace qkv::cli {

std::string extension_of(const std::string& path) {
  const std::string extension =
      std::filesystem::path(path).extension().string();
  return extension.empty() ? "" : extension.substr(1);
}

bool is_picture(const std::string& extension) {
  return extension == "svg" || extension == "png";
}

void write_picture(const std::string& path, const plot::Picture& picture) {
  io::write_file(path,
                 extension_of(path) == "png" ? picture.png() : picture.svg());
}

}  // namespace qkv::cli
