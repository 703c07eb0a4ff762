// The one exception type of the library. Nothing in the library prints,
// aborts or exits; a program maps the kind to its exit code.
#pragma once

#include <stdexcept>
#include <string>

#include "qkv/export.h"

namespace qkv {

enum class ErrorKind {
  input,     // the caller's argument, file or value is wrong or unreadable
  io,        // writing failed: disk full, no permission
  numeric,   // a NaN or Inf appeared in training or sampling
  internal,  // a fault of the library itself
};

// what() is one line. Operations begin with their name in brackets and give
// the shapes: "[linear] input (2,5,32) does not fit weight (64,16)". Files are
// named first, then the field or line: "a.safetensors: tensor 'x': …".
class QKV_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message);
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace qkv
