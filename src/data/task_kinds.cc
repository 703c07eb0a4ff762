#include "data/task_kinds.h"

#include <algorithm>
#include <array>

namespace qkv::data {
namespace {

using Shape = TaskShape;

constexpr char kEquals = '=';

std::string letters(const Shape& shape) {
  std::string text;
  for (int i = 0; i < shape.symbols; ++i) text += static_cast<char>('a' + i);
  return text;
}

void draw(const Shape& shape, char first, TorchRng& rng, std::string& text) {
  for (std::int64_t i = 0; i < shape.length; ++i)
    text += static_cast<char>(first + rng.randint(shape.symbols));
}

bool all_between(std::string_view text, char first, std::int64_t count) {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return c >= first && c < first + count; });
}

// "201102=": `length` symbols and an equals sign.
std::int64_t question_to_equals(const Shape& shape, char first,
                                std::string_view text) {
  const std::size_t n = static_cast<std::size_t>(shape.length);
  const bool fits = text.size() > n && text[n] == kEquals &&
                    all_between(text.substr(0, n), first, shape.symbols);
  return fits ? shape.length + 1 : 0;
}

// ---- sort, reverse, copy: 201102=001122, abcd=dcba, abcd=abcd ---------------

std::string sort_alphabet(const Shape& shape) {
  return kEquals + std::string("0123456789").substr(0, shape.symbols);
}
void ask_digits(const Shape& shape, TorchRng& rng, std::string& text) {
  draw(shape, '0', rng, text);
  text += kEquals;
}
std::int64_t digits_question(const Shape& shape, std::string_view text) {
  return question_to_equals(shape, '0', text);
}
void answer_sorted(const Shape& shape, std::string& text) {
  text.append(text, 0, static_cast<std::size_t>(shape.length));
  std::sort(text.end() - shape.length, text.end());
}

std::string letters_alphabet(const Shape& shape) {
  return kEquals + letters(shape);
}
void ask_letters(const Shape& shape, TorchRng& rng, std::string& text) {
  draw(shape, 'a', rng, text);
  text += kEquals;
}
std::int64_t letters_question(const Shape& shape, std::string_view text) {
  return question_to_equals(shape, 'a', text);
}
void answer_copied(const Shape& shape, std::string& text) {
  text.append(text, 0, static_cast<std::size_t>(shape.length));
}
void answer_reversed(const Shape& shape, std::string& text) {
  answer_copied(shape, text);
  std::reverse(text.end() - shape.length, text.end());
}

// ---- add: 07+85=290, the sum with its last digit first
// ------------------------

std::string add_alphabet(const Shape&) { return "+0123456789="; }
void ask_sum(const Shape& shape, TorchRng& rng, std::string& text) {
  draw(shape, '0', rng, text);
  text += '+';
  draw(shape, '0', rng, text);
  text += kEquals;
}
std::int64_t sum_question(const Shape& shape, std::string_view text) {
  const std::size_t n = static_cast<std::size_t>(shape.length);
  const bool fits = text.size() > 2 * n + 1 && text[n] == '+' &&
                    text[2 * n + 1] == kEquals &&
                    all_between(text.substr(0, n), '0', 10) &&
                    all_between(text.substr(n + 1, n), '0', 10);
  return fits ? 2 * shape.length + 2 : 0;
}
void answer_sum(const Shape& shape, std::string& text) {
  int carry = 0;
  for (std::int64_t i = shape.length - 1; i >= 0; --i) {
    const int sum = text[i] - '0' + text[shape.length + 1 + i] - '0' + carry;
    text += static_cast<char>('0' + sum % 10);
    carry = sum / 10;
  }
  text += static_cast<char>('0' + carry);
}

// ---- induction: kqvbkqvbkqvb…: letters, then the same again and again
// --------- A letter seen before is followed by what followed it. How many
// there are changes from text to text, so that no fixed distance will do; where
// they begin anew the first time cannot be known.

void ask_induction(const Shape& shape, TorchRng& rng, std::string& text) {
  const std::int64_t most = std::min(shape.symbols, shape.length / 2);
  const std::int64_t least = std::min<std::int64_t>(3, most);
  const std::int64_t n = least + rng.randint(most - least + 1);
  std::array<char, 26> pool;
  for (int i = 0; i < 26; ++i) pool[i] = static_cast<char>('a' + i);
  for (std::int64_t i = 0; i < n; ++i) {
    std::swap(pool[i], pool[i + rng.randint(shape.symbols - i)]);
    text += pool[i];
  }
}
std::int64_t induction_question(const Shape& shape, std::string_view text) {
  const std::size_t n = text.empty() ? 0 : text.find(text[0], 1);
  const bool fits = n > 0 && n != text.npos &&
                    all_between(text.substr(0, n), 'a', shape.symbols);
  return fits ? static_cast<std::int64_t>(n) : 0;
}
void answer_induction(const Shape& shape, std::string& text) {
  const std::size_t n = text.size();
  for (std::size_t i = n; i < static_cast<std::size_t>(shape.length); ++i)
    text += text[i - n];
}

// A new task is its functions above and a line here.
constexpr TaskKind kTasks[] = {
    {"sort",
     "digits in order: 201102=001122",
     {2, 2},
     {6, 3},
     {100, 10},
     sort_alphabet,
     ask_digits,
     digits_question,
     answer_sorted,
     0,
     true},
    {"reverse",
     "letters backwards: abcd=dcba",
     {2, 2},
     {8, 26},
     {100, 26},
     letters_alphabet,
     ask_letters,
     letters_question,
     answer_reversed,
     0,
     true},
    {"copy",
     "letters again: abcd=abcd",
     {2, 2},
     {8, 26},
     {100, 26},
     letters_alphabet,
     ask_letters,
     letters_question,
     answer_copied,
     0,
     true},
    {"add",
     "a sum, its last digit first: 07+85=290",
     {1, 10},
     {2, 10},
     {50, 10},
     add_alphabet,
     ask_sum,
     sum_question,
     answer_sum,
     0,
     true},
    {"induction",
     "letters repeated: kqvbkqvbkqvb",
     {6, 3},
     {32, 26},
     {1000, 26},
     letters,
     ask_induction,
     induction_question,
     answer_induction,
     1,
     false},
};

}  // namespace

std::span<const TaskKind> task_kinds() { return kTasks; }

}  // namespace qkv::data
