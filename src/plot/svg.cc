#include "plot/svg.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "core/text.h"
#include "plot/drawing.h"
#include "plot/token_label.h"

namespace qkv::plot {
namespace {

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

namespace {

// Appends the elements of one picture.
class SvgWriter {
 public:
  void operator()(const Rect& r) {
    add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}/>\n",
        coordinate(r.x), coordinate(r.y), coordinate(r.width),
        coordinate(r.height), attributes(r.style, !r.style.fill));
  }
  void operator()(const Line& l) {
    add("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"{}/>\n", coordinate(l.x1),
        coordinate(l.y1), coordinate(l.x2), coordinate(l.y2),
        attributes(l.style));
  }
  void operator()(const Circle& c) {
    add("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{}/>\n", coordinate(c.x),
        coordinate(c.y), coordinate(c.radius),
        attributes(c.style, !c.style.fill));
  }
  void operator()(const Outline& o) {
    add("<path d=\"{}\"{}/>\n", path_data(o.path),
        attributes(o.style, !o.style.fill));
  }
  void operator()(const CellGroup& group) {
    // The thin stroke closes the seams that renderers leave between areas.
    add("<g transform=\"translate({} {}) scale({:.4g})\" "
        "stroke-width=\"0.03\">\n",
        coordinate(group.x), coordinate(group.y), group.cell);
    for (const Outline& o : group.paths) {
      if (o.style.fill)
        add("<path d=\"{}\" fill=\"{}\" stroke=\"{}\"/>\n", path_data(o.path),
            hex(*o.style.fill), hex(*o.style.fill));
      else
        (*this)(o);
    }
    add("</g>\n");
  }
  void operator()(const Text& t) {
    const TextStyle& style = t.style;
    add("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"", coordinate(t.x),
        coordinate(t.y), coordinate(style.size), hex(style.fill));
    if (style.anchor != Anchor::start)
      add(" text-anchor=\"{}\"",
          style.anchor == Anchor::middle ? "middle" : "end");
    if (style.mono) add(" font-family=\"{}\"", kMono);
    if (style.bold) add(" font-weight=\"600\"");
    if (style.turn != 0)
      add(" transform=\"rotate({} {} {})\"", coordinate(style.turn),
          coordinate(t.x), coordinate(t.y));
    // Its own element and isolated: no token turns its neighbours around.
    if (has_right_to_left(t.text))
      add(" direction=\"ltr\" unicode-bidi=\"isolate\"");
    add(">{}</text>\n", escape(t.text));
  }

  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format,
                   std::forward<Arguments>(arguments)...);
  }
  std::string take() { return std::move(out_); }

 private:
  // Filled black is SVG's default: what is only stroked says so.
  static std::string attributes(const Style& style, bool unfilled = false) {
    std::string out;
    const auto add = [&out](std::string_view name, std::string_view value) {
      out += fmt::format(" {}=\"{}\"", name, value);
    };
    if (style.fill) add("fill", hex(*style.fill));
    if (unfilled) add("fill", "none");
    if (style.stroke) {
      add("stroke", hex(*style.stroke));
      add("stroke-width", coordinate(style.width));
      if (style.dash != Dash{}) {
        const auto& d = style.dash;
        add("stroke-dasharray",
            fmt::format("{} {} {} {}", coordinate(d[0]), coordinate(d[1]),
                        coordinate(d[2]), coordinate(d[3])));
      }
    }
    if (style.opacity != 1) add("opacity", coordinate(style.opacity));
    return out;
  }

  // Steps along an axis as h and v, from one rounded place to the next.
  static std::string path_data(const Path& path) {
    std::string d;
    const auto rounded = [](double v) { return std::round(v * 100) / 100; };
    double x = 0, y = 0;
    for (const Path::Step& step : path.steps) {
      if (step.kind == Path::close) {
        d += 'z';
        continue;
      }
      const double to_x = rounded(step.x), to_y = rounded(step.y);
      if (step.kind == Path::line && to_y == y)
        d += 'h' + coordinate(to_x - x);
      else if (step.kind == Path::line && to_x == x)
        d += 'v' + coordinate(to_y - y);
      else
        d += (step.kind == Path::move ? 'M' : 'L') + coordinate(to_x) + ' ' +
             coordinate(to_y);
      x = to_x;
      y = to_y;
    }
    return d;
  }

  std::string out_;
};

}  // namespace

std::string write_svg(const Drawing& drawing) {
  SvgWriter writer;
  writer.add(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}mm\" "
      "height=\"{}mm\" viewBox=\"0 0 {} {}\" role=\"img\" "
      "stroke-linejoin=\"round\" font-family=\"{}\">\n",
      coordinate(drawing.width() / kPointsPerMm),
      coordinate(drawing.height() / kPointsPerMm), coordinate(drawing.width()),
      coordinate(drawing.height()), kSans);
  if (!drawing.title().empty())
    writer.add("<title>{}</title>\n", escape(drawing.title()));
  if (!drawing.about().empty())
    writer.add("<desc>{}</desc>\n", escape(drawing.about()));
  for (const Shape& shape : drawing.shapes()) std::visit(writer, shape);
  return writer.take() + "</svg>\n";
}

}  // namespace qkv::plot
