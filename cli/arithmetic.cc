#include "cli/arithmetic.h"

#include <fmt/core.h>

#include "plot/token_label.h"

namespace qkv::cli {
namespace {

constexpr int kLabel = 6, kCell = 8;  // characters

// A token in at most kLabel - 1 characters.
std::string label(const std::vector<plot::Token>& tokens, std::int64_t i,
                  bool unicode) {
  std::string text = tokens[static_cast<std::size_t>(i)].bytes;
  if (text == " ") text = "' '";
  if (text == "\n") text = "\\n";
  if (!unicode) text = plot::ascii_label(text);
  // Bytes of one character count once; longer tokens are cut.
  std::size_t end = 0;
  int characters = 0;
  while (end < text.size() && characters < kLabel - 1) {
    ++end;
    while (end < text.size() && (text[end] & 0xC0) == 0x80) ++end;
    ++characters;
  }
  return text.substr(0, end) + std::string(kLabel - characters, ' ');
}

struct Table {
  const std::vector<float>& values;
  std::int64_t rows, columns;
  bool token_columns;  // the columns are tokens, else numbered
};

// The rows and columns that fit, and a word on those that do not.
std::string write(const Table& table, const std::vector<plot::Token>& tokens,
                  const plot::Terminal& terminal) {
  const std::int64_t fits =
      std::max(1, (terminal.columns - kLabel - 4) / kCell);
  const std::int64_t shown = std::min(table.columns, fits);
  std::string text(kLabel, ' ');
  for (std::int64_t j = 0; j < shown; ++j) {
    if (!table.token_columns) {
      text += fmt::format("{:>{}}", j, kCell);
      continue;
    }
    // Over the right end of its numbers, as far as they reach.
    std::string name = label(tokens, j, terminal.unicode);
    name.erase(name.find_last_not_of(' ') + 1);
    std::size_t width = 0;
    for (unsigned char c : name) width += (c & 0xC0) != 0x80;
    text += std::string(kCell - width, ' ') + name;
  }
  text += "\n";
  for (std::int64_t i = 0; i < table.rows; ++i) {
    text += label(tokens, i, terminal.unicode);
    for (std::int64_t j = 0; j < shown; ++j) {
      const float v = table.values[i * table.columns + j];
      text += v == inspect::kHidden ? fmt::format("{:>{}}", "-", kCell)
                                    : fmt::format("{:>{}.3f}", v, kCell);
    }
    if (shown < table.columns) text += " ...";
    text += "\n";
  }
  if (shown < table.columns)
    text += fmt::format("      (columns {} to {} of {} shown)\n", 0, shown - 1,
                        table.columns);
  return text + "\n";
}

}  // namespace

std::string arithmetic_text(const inspect::HeadSteps& s,
                            const std::vector<plot::Token>& tokens,
                            const plot::Terminal& terminal) {
  const std::int64_t t = s.length, d = s.head_width;
  const bool u = terminal.unicode;
  const std::string times = u ? "·" : "*", root_d = u ? "√d" : "sqrt(d)",
                    transposed = u ? "ᵀ" : "'";
  std::string text = fmt::format(
      "layer {}, head {}: {} tokens, model width {}, head width d = {}\n"
      "rows are queries, columns are keys; - is hidden by the mask\n\n",
      s.layer, s.head, t, s.width, d);
  const auto add = [&](const std::string& title,
                       const std::vector<float>& values, std::int64_t columns,
                       bool token_columns) {
    text += title + "\n" +
            write({values, t, columns, token_columns}, tokens, terminal);
  };
  add(fmt::format("X ({} x {}): what the layer norm gives this layer", t,
                  s.width),
      s.x, s.width, false);
  add(fmt::format("Q = X W_Q + b_Q ({} x {}): what each token looks for", t, d),
      s.q, d, false);
  add(fmt::format("K = X W_K + b_K ({} x {}): what each token offers", t, d),
      s.k, d, false);
  add(fmt::format("V = X W_V + b_V ({} x {}): what each token hands over", t,
                  d),
      s.v, d, false);
  add(fmt::format("Q K{} ({} x {}): how well they match", transposed, t, t),
      s.raw, t, true);
  add(fmt::format("Q K{} / {}, times {:.4f}: the size no longer grows with d",
                  transposed, root_d, s.scale),
      s.scaled, t, true);
  add("mask: a token sees itself and what came before", s.masked, t, true);
  add("A = softmax of each row: weights that sum to 1", s.weights, t, true);
  add(fmt::format("A {} V ({} x {}): the head's output, a weighted mean of "
                  "values",
                  times, t, d),
      s.output, d, false);
  return text;
}

}  // namespace qkv::cli
