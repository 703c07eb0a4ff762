#include "qkv/error.h"

#include "core/check.h"

namespace qkv {

Error::Error(ErrorKind kind, const std::string& message)
    : std::runtime_error(message), kind_(kind) {}

void throw_error(ErrorKind kind, std::string message) {
  throw Error(kind, message);
}

}  // namespace qkv
