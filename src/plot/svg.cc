#include "plot/svg.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>

#include "core/text.h"
#include "plot/token_label.h"

namespace qkv::plot {
namespace {

// Helvetica's advance widths for ' ' … '~', thousandths of the size.
constexpr std::array<short, 95> kAdvance = {
    278, 278, 355, 556, 556,  889, 667, 191, 333, 333, 389, 584, 278, 333,
    278, 278, 556, 556, 556,  556, 556, 556, 556, 556, 556, 556, 278, 278,
    584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722,  778, 667, 778, 722, 667, 611, 722, 667, 944,
    667, 667, 611, 278, 278,  278, 469, 556, 333, 556, 556, 500, 556, 556,
    278, 556, 556, 222, 222,  500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500,  500, 500, 334, 260, 334, 584};

bool allowed_in_xml(int c) {
  return c == '\t' || c == '\n' || c == '\r' ||
         (c >= 0x20 && c != 0xFFFE && c != 0xFFFF);
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const int c = decode_utf8(text, at);
    if (c < 0) ++at;
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        if (c < 0 || !allowed_in_xml(c))
          out += "\uFFFD";
        else
          out += text.substr(start, at - start);
    }
  }
  return out;
}

std::string coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

double sans_width(std::string_view text, double size) {
  double thousandths = 0;
  for (std::size_t at = 0; at < text.size();) {
    const int c = decode_utf8(text, at);
    if (c < 0) ++at;
    const bool ascii = c >= ' ' && c <= '~';
    thousandths += ascii ? kAdvance[c - ' '] : 584;
  }
  return thousandths * size / 1000;
}

double mono_width(std::string_view text, double size) {
  return display_columns(text) * 0.602 * size;
}

Svg::Svg(double width, double height, std::string_view title,
         std::string_view about) {
  out_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}mm\" "
      "height=\"{}mm\" viewBox=\"0 0 {} {}\" role=\"img\" "
      "font-family=\"{}\">\n",
      coordinate(width / kPointsPerMm), coordinate(height / kPointsPerMm),
      coordinate(width), coordinate(height), kSans);
  if (!title.empty()) out_ += "<title>" + escape(title) + "</title>\n";
  if (!about.empty()) out_ += "<desc>" + escape(about) + "</desc>\n";
  rect(0, 0, width, height, kPaper);
}

void Svg::rect(double x, double y, double width, double height,
               std::string_view fill, std::string_view attributes) {
  fmt::format_to(std::back_inserter(out_),
                 "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
                 "fill=\"{}\"{}{}/>\n",
                 coordinate(x), coordinate(y), coordinate(width),
                 coordinate(height), fill, attributes.empty() ? "" : " ",
                 attributes);
}

void Svg::line(double x1, double y1, double x2, double y2,
               std::string_view stroke, double width,
               std::string_view attributes) {
  fmt::format_to(std::back_inserter(out_),
                 "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" "
                 "stroke-width=\"{}\"{}{}/>\n",
                 coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2),
                 stroke, coordinate(width), attributes.empty() ? "" : " ",
                 attributes);
}

void Svg::path(std::string_view d, std::string_view attributes) {
  fmt::format_to(std::back_inserter(out_), "<path d=\"{}\" {}/>\n", d,
                 attributes);
}

void Svg::open_group(std::string_view attributes) {
  fmt::format_to(std::back_inserter(out_), "<g {}>\n", attributes);
}

void Svg::close_group() { out_ += "</g>\n"; }

void Svg::circle(double x, double y, double radius,
                 std::string_view attributes) {
  fmt::format_to(std::back_inserter(out_),
                 "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {}/>\n", coordinate(x),
                 coordinate(y), coordinate(radius), attributes);
}

void Svg::text(double x, double y, std::string_view text,
               const TextStyle& style) {
  fmt::format_to(std::back_inserter(out_),
                 "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"",
                 coordinate(x), coordinate(y), coordinate(style.size),
                 style.fill);
  if (style.anchor != Anchor::start)
    out_ += style.anchor == Anchor::middle ? " text-anchor=\"middle\""
                                           : " text-anchor=\"end\"";
  if (style.mono)
    fmt::format_to(std::back_inserter(out_), " font-family=\"{}\"", kMono);
  if (style.bold) out_ += " font-weight=\"600\"";
  if (style.turn != 0)
    fmt::format_to(std::back_inserter(out_), " transform=\"rotate({} {} {})\"",
                   coordinate(style.turn), coordinate(x), coordinate(y));
  // Its own element and isolated: no token turns its neighbours around.
  if (has_right_to_left(text))
    out_ += " direction=\"ltr\" unicode-bidi=\"isolate\"";
  out_ += ">" + escape(text) + "</text>\n";
}

void Svg::title(double x, double y, double width, std::string_view title) {
  std::string shown(title);
  while (sans_width(shown, kTitleSize * 1.07) > width &&
         shown.size() > 3) {  // bold is wider
    if (shown.ends_with("…")) shown.resize(shown.size() - 3);
    // A whole character goes: its continuation bytes first.
    while (shown.size() > 1 && (shown.back() & 0xC0) == 0x80) shown.pop_back();
    if (!shown.empty()) shown.pop_back();
    shown += "…";
  }
  if (!shown.empty())
    text(x, y, shown, {.size = kTitleSize, .fill = kInk, .bold = true});
}

std::string Svg::finish() && { return std::move(out_) + "</svg>\n"; }

}  // namespace qkv::plot
