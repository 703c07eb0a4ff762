#include "plot/drawing.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/check.h"
#include "core/text.h"
#include "plot/token_label.h"

namespace qkv::plot {
namespace {

// DejaVu Sans' advance widths for ' ' … '~', thousandths of the size.
constexpr std::array<short, 95> kAdvance = {
    318, 401, 460, 838, 636,  950, 780, 275, 390, 390, 500, 838, 318, 361,
    318, 337, 636, 636, 636,  636, 636, 636, 636, 636, 636, 636, 337, 337,
    838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295,
    295, 656, 557, 863, 748,  787, 603, 787, 695, 635, 611, 732, 684, 989,
    685, 611, 685, 390, 337,  390, 838, 500, 500, 613, 635, 550, 635, 615,
    352, 635, 634, 278, 278,  579, 278, 974, 634, 612, 635, 635, 411, 521,
    392, 634, 592, 818, 592,  592, 525, 636, 337, 636, 838};
constexpr double kBoldWider = 1.13;

struct Shift {
  double x, y;

  void operator()(Line& l) const {
    l.x1 += x, l.x2 += x;
    l.y1 += y, l.y2 += y;
  }
  void operator()(Outline& o) const {
    for (Path::Step& step : o.path.steps) step.x += x, step.y += y;
  }
  template <class Placed>
  void operator()(Placed& shape) const {
    shape.x += x, shape.y += y;
  }
};

}  // namespace

double sans_width(std::string_view text, double size) {
  double thousandths = 0;
  for (std::size_t at = 0; at < text.size();) {
    const int c = decode_utf8(text, at);
    if (c < 0) ++at;
    const bool ascii = c >= ' ' && c <= '~';
    thousandths += ascii ? kAdvance[c - ' '] : 838;
  }
  return thousandths * size / 1000;
}

double mono_width(std::string_view text, double size) {
  return display_columns(text) * 0.602 * size;
}

Drawing::Drawing(double width, double height, std::string title,
                 std::string about)
    : width_(width),
      height_(height),
      title_(std::move(title)),
      about_(std::move(about)) {
  rect(0, 0, width, height, filled(kPaper));
}

void Drawing::rect(double x, double y, double width, double height,
                   Style style) {
  shapes_.push_back(Rect{x, y, width, height, style});
}

void Drawing::line(double x1, double y1, double x2, double y2, Style style) {
  shapes_.push_back(Line{x1, y1, x2, y2, style});
}

void Drawing::circle(double x, double y, double radius, Style style) {
  shapes_.push_back(Circle{x, y, radius, style});
}

void Drawing::path(Path path, Style style) {
  shapes_.push_back(Outline{std::move(path), style});
}

void Drawing::cells(CellGroup group) { shapes_.push_back(std::move(group)); }

void Drawing::text(double x, double y, std::string text,
                   const TextStyle& style) {
  shapes_.push_back(Text{x, y, std::move(text), style});
}

void Drawing::heading(double x, double y, double width,
                      std::string_view heading) {
  const auto fits = [&](const std::string& part) {
    return sans_width(part, kTitleSize * kBoldWider) <= width;
  };
  // No line shows more characters than this: the rest need not be measured.
  constexpr std::size_t kMostBytes = 4096;
  std::string shown(heading.substr(0, kMostBytes));
  if (shown.size() < heading.size() || !fits(shown)) {
    // Whole characters go, a half of what is left to try at a time.
    std::vector<std::size_t> ends{0};
    for (std::size_t i = 1; i <= shown.size(); ++i)
      if (i == shown.size() || (shown[i] & 0xC0) != 0x80) ends.push_back(i);
    std::size_t low = 0, high = ends.size() - 1;
    while (low < high) {
      const std::size_t middle = (low + high + 1) / 2;
      if (fits(shown.substr(0, ends[middle]) + "…"))
        low = middle;
      else
        high = middle - 1;
    }
    shown = shown.substr(0, ends[low]) + "…";
  }
  if (!shown.empty())
    text(x, y, shown, {.size = kTitleSize, .fill = kInk, .bold = true});
}

void Drawing::append(const Drawing& other, double x, double y) {
  for (Shape shape : other.shapes_) {
    std::visit(Shift{x, y}, shape);
    shapes_.push_back(std::move(shape));
  }
}

Picture picture_of(Drawing drawing) {
  return Picture(std::make_shared<const Drawing>(std::move(drawing)));
}

Picture::Picture(std::shared_ptr<const Drawing> drawing)
    : drawing_(std::move(drawing)) {}

Picture side_by_side(const std::vector<Picture>& pictures) {
  if (pictures.empty()) fail_input("[side_by_side] no picture");
  if (pictures.size() == 1) return pictures.front();
  constexpr double kGap = 12;
  double width = -kGap, height = 0;
  std::string title;
  for (const Picture& picture : pictures) {
    const Drawing& drawing = picture.drawing();
    width += drawing.width() + kGap;
    height = std::max(height, drawing.height());
    title += (title.empty() ? "" : " | ") + drawing.title();
  }
  Drawing all(width, height, title, pictures.front().drawing().about());
  double x = 0;
  for (const Picture& picture : pictures) {
    all.append(picture.drawing(), x, 0);
    x += picture.drawing().width() + kGap;
  }
  return picture_of(std::move(all));
}

std::string Picture::svg() const { return write_svg(*drawing_); }

std::string Picture::png(double scale) const {
  return write_png(*drawing_, scale);
}

}  // namespace qkv::plot
