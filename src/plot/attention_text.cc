#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/check.h"
#include "core/text.h"
#include "plot/cells.h"
#include "plot/number.h"
#include "plot/token_label.h"

namespace qkv::plot {
namespace {

constexpr int kLabelColumns = 12;     // the longest token label
constexpr int kSmallestPicture = 10;  // of a grid, in cells, before it wraps

constexpr std::array<std::string_view, 5> kShades = {"·", "░", "▒", "▓", "█"};
constexpr std::string_view kAscii = ".:-=+*#%@";

// Entries of the 256-colour palette that stand for the ramp: their lightness
// moves by even steps, and on each one ink reads well.
struct Step {
  int colour, ink;
};
constexpr int kBlack = 16, kWhite = 231;
constexpr std::array<Step, 7> kOnDark = {{{235, kWhite},
                                          {237, kWhite},
                                          {24, kWhite},
                                          {31, kBlack},
                                          {74, kBlack},
                                          {117, kBlack},
                                          {195, kBlack}}};
constexpr std::array<Step, 7> kOnLight = {{{255, kBlack},
                                           {153, kBlack},
                                           {110, kBlack},
                                           {67, kBlack},
                                           {25, kWhite},
                                           {18, kWhite},
                                           {17, kWhite}}};

// Which of `steps` even parts of the ramp, nearest first and last included.
int step_of(int index, int steps) { return (index * (steps - 1) + 127) / 255; }

// The characters of a label, one above the other, where they fit `width`.
std::vector<std::string> characters(std::string_view label, int width) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < label.size();) {
    const std::size_t start = at;
    if (decode_utf8(label, at) < 0) ++at;
    const std::string_view one = label.substr(start, at - start);
    const int columns = display_columns(one);
    if (columns == 0 && !out.empty())
      out.back() += one;  // an accent stays with its letter
    else
      out.emplace_back(columns <= width ? one : "?");
  }
  return out;
}

class TextPicture {
 public:
  TextPicture(const Attention& attention, const Terminal& terminal)
      : attention_(attention),
        terminal_(terminal),
        columns_(std::max(terminal.columns, 20)) {}

  std::string head(int layer, int head) {
    words(fmt::format("layer {}, head {}{}", attention_.first_layer + layer,
                      attention_.first_head + head,
                      weights() ? ": a row shows what its token looks at, in %"
                                : ": scores of a row's token for each other"));
    const int label_width = widest_label();
    const int room = columns_ - label_width - 1;
    const int number_width = weights() ? 4 : 7;
    const bool numbers = attention_.keys * number_width <= room;
    const int cell = numbers                       ? number_width
                     : attention_.keys * 2 <= room ? 2
                                                   : 1;
    const Cells cells = cells_of(attention_, layer, head, room / cell);
    note_pool(cells);
    const std::string indent(label_width + 1, ' ');
    for (const std::string& header : column_labels(cells, cell))
      line(indent + header);
    for (int q = 0; q < cells.rows; ++q) {
      std::string text = row_label(cells, q, label_width) + ' ';
      for (int k = 0; k < cells.columns; ++k)
        text += numbers ? numbered(cells.at(q, k),
                                   value_at(attention_, layer, head, q, k),
                                   number_width)
                        : plain(cells.at(q, k), cell);
      line(text);
    }
    return finish();
  }

  std::string grid() {
    words(weights() ? "layer.head; a row shows what its token looks at"
                    : "layer.head; scores of a row's token for each other");
    const int label_width = widest_label();
    const int room = columns_ - label_width - 1;
    const int most =
        std::clamp(room / attention_.heads - 2, kSmallestPicture, room);
    Cells cells = cells_of(attention_, 0, 0, most);
    note_pool(cells);
    // Two columns make a cell about square; where they do not fit, colour
    // draws two rows in one line instead.
    const int wide = (2 * cells.columns + 2) * attention_.heads - 2;
    const int cell = wide <= room ? 2 : 1;
    const bool halves = cell == 1 && terminal_.colour && terminal_.unicode;
    const int picture = cell * cells.columns;
    const int a_line = std::max(1, (room + 2) / (picture + 2));
    const std::string indent(label_width + 1, ' ');
    for (int layer = 0; layer < attention_.layers; ++layer)
      for (int first = 0; first < attention_.heads; first += a_line) {
        const int end = std::min(first + a_line, attention_.heads);
        std::string names = indent;
        for (int head = first; head < end; ++head)
          names += padded(fmt::format("{}.{}", attention_.first_layer + layer,
                                      attention_.first_head + head),
                          picture + 2);
        line(names);
        if (layer == 0)
          for (const std::string& header : column_labels(cells, cell)) {
            std::string headers = indent;
            for (int head = first; head < end; ++head)
              headers += padded(header, picture + 2);
            line(headers);
          }
        std::vector<Cells> shown;
        for (int head = first; head < end; ++head)
          shown.push_back(cells_of(attention_, layer, head, most));
        for (int q = 0; q < cells.rows; q += halves ? 2 : 1) {
          std::string text = row_label(cells, q, label_width) + ' ';
          for (const Cells& one : shown) {
            for (int k = 0; k < one.columns; ++k)
              text += halves ? half(one.at(q, k), q + 1 < one.rows
                                                      ? one.at(q + 1, k)
                                                      : kHiddenCell)
                             : plain(one.at(q, k), cell);
            text += "  ";
          }
          line(text);
        }
      }
    if (halves)
      words("two rows of a picture to a line; the label is the upper");
    return finish();
  }

 private:
  bool weights() const { return attention_.quantity == Quantity::weights; }

  static std::string padded(std::string text, int width) {
    const int missing = width - display_columns(text);
    return text + std::string(std::max(missing, 0), ' ');
  }

  // Adds a line without the spaces at its end.
  void line(const std::string& text) {
    out_ += text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
  }

  // Adds words, as many lines as they need.
  void words(std::string_view text) {
    while (static_cast<int>(text.size()) > columns_) {
      const std::size_t space = text.rfind(' ', columns_);
      line(std::string(text.substr(0, space)));
      text.remove_prefix(space + 1);
    }
    line(std::string(text));
  }

  std::string fitted(std::string label) const {
    if (!terminal_.unicode) {
      label = ascii_label(label);
      if (label.size() > kLabelColumns)
        label = label.substr(0, kLabelColumns - 1) + '~';
    }
    return label;
  }

  int label_limit() const { return std::min(kLabelColumns, columns_ / 3); }

  int widest_label() const {
    int widest = 1;
    for (int q = 0; q < attention_.queries; ++q)
      widest = std::max(
          widest,
          display_columns(fitted(query_label(attention_, q, label_limit()))));
    return std::min(widest, label_limit());
  }

  std::string row_label(const Cells& cells, int row, int width) const {
    const int query = row * cells.pool;
    std::string label = cells.pool > 1
                            ? count_text(query)
                            : fitted(query_label(attention_, query, width));
    const int missing = width - display_columns(label);
    // Isolated: right-to-left text turns nothing else in the line around.
    if (has_right_to_left(label)) label = "\u2068" + label + "\u2069";
    return std::string(std::max(missing, 0), ' ') + label;
  }

  // Lines of text over the columns: tokens, written downwards where they are
  // wider than a cell; every tenth position where cells hold several keys.
  std::vector<std::string> column_labels(const Cells& cells, int cell) const {
    if (cells.pool > 1) {
      std::string positions;
      for (int k = 0; k < cells.columns; k += 10) {
        const int room = std::min(10, cells.columns - k) * cell;
        const std::string position = count_text(1.0 * k * cells.pool);
        if (display_columns(position) <= room)
          positions += padded(position, room);
      }
      return {positions};
    }
    std::vector<std::string> labels;
    int widest = 0;
    for (int k = 0; k < cells.columns; ++k) {
      labels.push_back(fitted(key_label(attention_, k, label_limit())));
      widest = std::max(widest, display_columns(labels.back()));
    }
    // Under numbers a token ends where its numbers do.
    const int right = cell > 2 ? cell - 1 : 1;
    std::vector<std::string> lines;
    if (widest <= std::max(cell - 1, 1)) {
      lines.emplace_back();
      for (const std::string& label : labels)
        lines[0] += placed(label, right, cell);
      return lines;
    }
    std::vector<std::vector<std::string>> columns;
    std::size_t height = 0;
    for (const std::string& label : labels) {
      columns.push_back(characters(label, cell));
      height = std::max(height, columns.back().size());
    }
    for (std::size_t row = 0; row < height; ++row) {
      std::string text;
      for (const auto& column : columns) {
        const std::size_t above = height - column.size();
        text += placed(row < above ? "" : column[row - above], right, cell);
      }
      lines.push_back(text);
    }
    return lines;
  }

  // `text` ending at column `right` of a cell.
  static std::string placed(const std::string& text, int right, int cell) {
    const int before = std::max(0, right - display_columns(text));
    return padded(std::string(before, ' ') + text, cell);
  }

  void note_pool(const Cells& cells) {
    if (cells.pool > 1)
      words(fmt::format("a cell is the largest of {0} x {0}", cells.pool));
  }

  std::string_view shade(int index) const {
    if (terminal_.unicode) return kShades[step_of(index, kShades.size())];
    return kAscii.substr(step_of(index, kAscii.size()), 1);
  }

  const Step& step(int index) const {
    const auto& steps = terminal_.dark ? kOnDark : kOnLight;
    return steps[step_of(index, steps.size())];
  }

  std::string background(int index, const std::string& text) const {
    return fmt::format("\x1b[38;5;{};48;5;{}m{}\x1b[0m", step(index).ink,
                       step(index).colour, text);
  }

  // A cell of 1 or 2 columns without a number.
  std::string plain(int index, int width) const {
    if (index == kHiddenCell) return std::string(width, ' ');
    if (index == kBadCell) return std::string(width, '!');
    if (terminal_.colour) return background(index, std::string(width, ' '));
    std::string out;
    for (int i = 0; i < width; ++i) out += shade(index);
    return out;
  }

  // A cell with its number: on colour, or behind a shade.
  std::string numbered(int index, float value, int width) const {
    if (index == kHiddenCell) return std::string(width, ' ');
    if (index == kBadCell) return fmt::format("{:>{}} ", "NaN", width - 1);
    std::string number =
        weights() ? fmt::format("{:.0f}", 100 * value) : score_text(value);
    if (!terminal_.unicode && number.starts_with("\u2212"))
      number = "-" + number.substr(3);
    const std::string gap(std::max(0, width - 1 - display_columns(number)),
                          ' ');
    if (terminal_.colour) return background(index, gap + number + ' ');
    return std::string(shade(index)) + gap + number;
  }

  // Two cells, one above the other, in one character.
  std::string half(int upper, int lower) const {
    const auto solid = [](int index) { return index >= 0; };
    if (!solid(upper) && !solid(lower)) return " ";
    if (!solid(lower))
      return fmt::format("\x1b[38;5;{}m▀\x1b[0m", step(upper).colour);
    if (!solid(upper))
      return fmt::format("\x1b[38;5;{}m▄\x1b[0m", step(lower).colour);
    return fmt::format("\x1b[38;5;{};48;5;{}m▀\x1b[0m", step(upper).colour,
                       step(lower).colour);
  }

  // The legend: shades at round values, and what a blank means.
  std::string finish() {
    std::string text;
    int width = 0;
    const auto add = [&](const std::string& item, int columns) {
      if (width + columns > columns_) {
        line(text);
        text.clear();
        width = 0;
      }
      text += item + "  ";
      width += columns + 2;
    };
    for (const ScaleTick& tick : scale_of(attention_.quantity).ticks) {
      const std::string value =
          terminal_.unicode || weights() ? std::string(tick.text)
          : tick.at == 0                 ? "<= -8"
                         : fmt::format("{:.0f}", 8 * (tick.at - 1));
      add(plain(static_cast<int>(255 * tick.at + 0.5), 2) + ' ' + value,
          3 + display_columns(value));
    }
    add("blank: masked", 13);
    line(text);
    return std::move(out_);
  }

  const Attention& attention_;
  const Terminal& terminal_;
  int columns_;
  std::string out_;
};

}  // namespace

std::string attention_grid_text(const Attention& attention,
                                const Terminal& terminal) {
  check_attention("attention_grid_text", attention);
  if (attention.values.empty()) return "no tokens\n";
  return TextPicture(attention, terminal).grid();
}

std::string attention_head_text(const Attention& attention, int layer, int head,
                                const Terminal& terminal) {
  check_attention("attention_head_text", attention);
  if (layer < 0 || layer >= attention.layers || head < 0 ||
      head >= attention.heads)
    fail_input("[attention_head_text] layer {}, head {} of {} x {}", layer,
               head, attention.layers, attention.heads);
  if (attention.values.empty()) return "no tokens\n";
  return TextPicture(attention, terminal).head(layer, head);
}

}  // namespace qkv::plot
