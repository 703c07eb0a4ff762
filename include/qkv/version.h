// The version, written in this one place: CMake, --version, the packages and
// qkv.pc take it from here. While the major version is 0 a new minor version
// may change the interface, and the library's soname holds both numbers.
#pragma once

#define QKV_VERSION_MAJOR 0
#define QKV_VERSION_MINOR 1
#define QKV_VERSION_PATCH 0

namespace qkv {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace qkv
