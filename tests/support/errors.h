// What an action threw.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "qkv/error.h"

namespace qkv::test {

// The message of the qkv::Error that action throws; fails the test when it
// throws none or one of another kind, and on a message of several lines.
template <class Action>
std::string error_of(ErrorKind kind, Action action) {
  try {
    action();
  } catch (const Error& error) {
    std::string message = error.what();
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind))
        << message;
    EXPECT_EQ(message.find('\n'), message.npos) << message;
    return message;
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

}  // namespace qkv::test

// EXPECT_ERROR(input, "part of the message", statement)
#define EXPECT_ERROR(kind, part, ...)                                     \
  do {                                                                    \
    const std::string message_ = ::qkv::test::error_of(                   \
        ::qkv::ErrorKind::kind, [&] { static_cast<void>(__VA_ARGS__); }); \
    EXPECT_NE(message_.find(part), std::string::npos)                     \
        << "message: " << message_ << "\n  lacks: " << (part);            \
  } while (false)
