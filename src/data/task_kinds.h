// The tasks: how a question is drawn, and what its answer is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "qkv/rng.h"

namespace qkv::data {

struct TaskShape {
  std::int64_t length;   // symbols of a question
  std::int64_t symbols;  // different ones
};

struct TaskKind {
  std::string_view name;
  std::string_view help;
  TaskShape least, usual, most;
  // Every character that may occur.
  std::string (*alphabet)(const TaskShape& shape);
  // Appends a question to text.
  void (*ask)(const TaskShape& shape, TorchRng& rng, std::string& text);
  // How many characters of text are its question; 0 when it begins with none.
  std::int64_t (*question)(const TaskShape& shape, std::string_view text);
  // Appends the answer to a text that is a question.
  void (*answer)(const TaskShape& shape, std::string& text);
  std::int64_t given;  // characters of the answer that cannot be known
  bool stops;          // whether its end can be
};

std::span<const TaskKind> task_kinds();

}  // namespace qkv::data
