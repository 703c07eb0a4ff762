// Throwing qkv::Error with a formatted message, in one expression.
#pragma once

#include <fmt/core.h>

#include <utility>

#include "qkv/error.h"

namespace qkv {

[[noreturn]] void throw_error(ErrorKind kind, std::string message);

// The caller gave something wrong: fail_input("[linear] …", …).
template <class... Args>
[[noreturn]] void fail_input(fmt::format_string<Args...> format,
                             Args&&... args) {
  throw_error(ErrorKind::input,
              fmt::format(format, std::forward<Args>(args)...));
}

// Writing failed.
template <class... Args>
[[noreturn]] void fail_io(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(ErrorKind::io, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail_numeric(fmt::format_string<Args...> format,
                               Args&&... args) {
  throw_error(ErrorKind::numeric,
              fmt::format(format, std::forward<Args>(args)...));
}

// A broken promise inside the library.
template <class... Args>
[[noreturn]] void fail_internal(fmt::format_string<Args...> format,
                                Args&&... args) {
  throw_error(ErrorKind::internal,
              fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace qkv
