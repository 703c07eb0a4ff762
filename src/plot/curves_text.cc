// Curves in the terminal: dots of Braille characters where they can be told
// apart (one curve, or colours), else a letter for each.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/text.h"
#include "plot/chart.h"
#include "plot/number.h"
#include "plot/token_label.h"

namespace qkv::plot {
namespace {

constexpr int kRows = 16;
constexpr int kLeast = 10;  // columns of the plot itself
// Of the 256 colours, near the series' own on either ground.
constexpr std::array<int, 6> kColours = {32, 172, 97, 66, 138, 130};

// One character of the plot.
struct Cell {
  int dots = 0;     // of a Braille character
  int series = -1;  // the last that was drawn here
};

class TextPlot {
 public:
  TextPlot(const Axis& x, const Axis& y, int columns)
      : x_(x), y_(y), columns_(columns), cells_(kRows * columns) {
    x_.from = 0;
    x_.to = 2 * columns - 1;  // places are dots: 2 × 4 a character
    y_.from = 4 * kRows - 1;
    y_.to = 0;
  }

  // Joins the points, upwards and downwards too.
  void draw(std::span<const Point> points, int series) {
    int last_column = -1, last_row = 0;
    for (const Point& point : points) {
      if (!std::isfinite(point.y)) {
        last_column = -1;
        continue;
      }
      const int column = static_cast<int>(std::lround(x_.at(point.x)));
      const int row = static_cast<int>(std::lround(y_.at(point.y)));
      const int steps = last_column < 0
                            ? 0
                            : std::max(std::abs(column - last_column),
                                       std::abs(row - last_row));
      for (int i = 0; i <= steps; ++i) {
        const double t = steps == 0 ? 1 : static_cast<double>(i) / steps;
        const double from_x = last_column < 0 ? column : last_column;
        const double from_y = last_column < 0 ? row : last_row;
        put(static_cast<int>(std::lround(from_x + t * (column - from_x))),
            static_cast<int>(std::lround(from_y + t * (row - from_y))), series);
      }
      last_column = column;
      last_row = row;
    }
  }

  const Cell& at(int row, int column) const {
    return cells_[row * columns_ + column];
  }

 private:
  void put(int x, int y, int series) {
    // Unicode numbers a Braille character's dots down its columns, the fourth
    // row last.
    constexpr int kDots[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    Cell& cell = cells_[y / 4 * columns_ + x / 2];
    if (cell.series != series) cell.dots = 0;
    cell.dots |= kDots[y % 4][x % 2];
    cell.series = series;
  }

  Axis x_, y_;
  int columns_;
  std::vector<Cell> cells_;
};

std::string letter(int series) {
  return std::string(1, static_cast<char>('a' + series % 26));
}

std::string coloured(std::string text, int series, const Terminal& terminal) {
  if (!terminal.colour) return text;
  return fmt::format("\x1b[38;5;{}m{}\x1b[0m",
                     kColours[series % kColours.size()], text);
}

// At most so many columns of a line, printable.
std::string cut(const std::string& line, int columns, bool unicode) {
  std::string out;
  int used = 0;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t start = at;
    int c = decode_utf8(line, at);
    if (c < 0) ++at;
    const bool plain = c >= 0x20 && c != 0x7F && (unicode || c < 0x7F);
    const std::string one = plain ? line.substr(start, at - start) : "?";
    const int width = display_columns(one);
    if (used + width > columns) break;
    used += width;
    out += one;
  }
  return out;
}

}  // namespace

std::string curves_text(const Curves& curves, const Terminal& terminal) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::vector<std::span<const Point>> all;
  for (const Series& series : curves.series) {
    check_points("curves_text", series.points);
    all.push_back(series.points);
    for (const Point& point : series.points) {
      if (!std::isfinite(point.y)) continue;
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
  }
  const Axis x = fitted_x(all, 0, curves.log_x);
  Axis y = fitted_y(low, high);
  y.from = kRows;
  y.to = 0;
  const Ticks y_ticks = ticks(y, 4);
  std::vector<std::string> marks(kRows);
  std::size_t left = 0;
  for (const double value : y_ticks.values) {
    std::string& mark =
        marks[std::min(kRows - 1, static_cast<int>(y.at(value)))];
    mark = fixed_text(value, y_ticks.decimals);
    if (!terminal.unicode && mark.starts_with("−")) mark.replace(0, 3, "-");
    left = std::max(left, static_cast<std::size_t>(display_columns(mark)));
  }
  const int columns =
      std::max(kLeast, terminal.columns - static_cast<int>(left) - 2);

  TextPlot plot(x, y, columns);
  for (std::size_t i = 0; i < all.size(); ++i)
    plot.draw(all[i], static_cast<int>(i));

  const bool braille =
      terminal.unicode && (terminal.colour || curves.series.size() == 1);
  std::string out =
      cut(curves.y_name, terminal.columns, terminal.unicode) + "\n";
  for (int row = 0; row < kRows; ++row) {
    const int pad = static_cast<int>(left) - display_columns(marks[row]);
    out +=
        std::string(pad, ' ') + marks[row] + (terminal.unicode ? " │" : " |");
    std::string line;
    std::size_t written = 0;  // without blanks at the end
    for (int column = 0; column < columns; ++column) {
      const Cell& cell = plot.at(row, column);
      std::string one = " ";
      if (cell.series >= 0) {
        if (braille) {
          one.clear();
          append_utf8(one, static_cast<char32_t>(0x2800 + cell.dots));
        } else {
          one = letter(cell.series);
        }
        one = coloured(one, cell.series, terminal);
      }
      line += one;
      if (cell.series >= 0) written = line.size();
    }
    out += line.substr(0, written) + "\n";
  }
  const std::string first = count_text(x.low), last = count_text(x.high);
  const int between = columns - display_columns(first) - display_columns(last);
  out += std::string(left + 2, ' ') + first +
         std::string(std::max(1, between), ' ') + last + "\n";
  for (std::size_t i = 0; i < curves.series.size(); ++i) {
    const Series& series = curves.series[i];
    const Point* end = last_finite(series.points);
    const std::string sign = braille ? "⠤" : letter(static_cast<int>(i));
    out += coloured(sign, static_cast<int>(i), terminal) + " " +
           cut(series.name + " " + (end ? loss_text(end->y) : "no values"),
               terminal.columns - 2, terminal.unicode) +
           "\n";
  }
  return out;
}

}  // namespace qkv::plot
