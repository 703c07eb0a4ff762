// Pictures in files: what a file holds follows from its name.
#pragma once

#include <string>

#include "qkv/plot.h"

namespace qkv::cli {

// What stands after the last dot of the file's name; "" without one.
std::string extension_of(const std::string& path);

bool is_picture(const std::string& extension);  // svg or png

// Writes FILE.svg or FILE.png, whole or not at all.
void write_picture(const std::string& path, const plot::Picture& picture);

}  // namespace qkv::cli
