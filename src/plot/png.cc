// Pictures as PNG, through Cairo. The same drawing gives the same bytes: fonts
// by name, unhinted, grey antialiasing, none of the desktop's settings.
#include <cairo.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "core/check.h"
#include "plot/drawing.h"
#include "plot/png_text.h"

namespace qkv::plot {
namespace {

constexpr double kPixelsPerPoint = 96.0 / 72;  // at scale 1
constexpr double kMostPixels = 32767;          // Cairo's limit either way

void set_source(cairo_t* cairo, Rgb colour) {
  cairo_set_source_rgb(cairo, colour.r / 255.0, colour.g / 255.0,
                       colour.b / 255.0);
}

// Draws in points; what is upright or level is moved onto whole pixels, so that
// it stays sharp.
class CairoPainter {
 public:
  CairoPainter(cairo_t* cairo, double pixels) : cairo_(cairo), pixels_(pixels) {
    cairo_scale(cairo, pixels, pixels);
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
    set_font_options(cairo);
  }

  void operator()(const Rect& r) {
    const double left = edge(r.x), top = edge(r.y);
    const double right = edge(r.x + r.width), bottom = edge(r.y + r.height);
    // The middle of a line one pixel wide lies between two edges.
    const double inset = r.style.stroke && odd(r.style.width) ? 0.5 : 0;
    cairo_rectangle(cairo_, (left + inset) / pixels_, (top + inset) / pixels_,
                    (right - left) / pixels_, (bottom - top) / pixels_);
    paint(r.style, true);
  }

  void operator()(const Line& l) {
    const bool level = l.y1 == l.y2, upright = l.x1 == l.x2;
    const double shift = odd(l.style.width) ? 0.5 : 0;
    const auto across = [&](double v) {
      return (std::floor(v * pixels_) + shift) / pixels_;
    };
    cairo_move_to(cairo_, upright ? across(l.x1) : l.x1,
                  level ? across(l.y1) : l.y1);
    cairo_line_to(cairo_, upright ? across(l.x2) : l.x2,
                  level ? across(l.y2) : l.y2);
    paint(l.style, level || upright);
  }

  void operator()(const Circle& c) {
    cairo_new_sub_path(cairo_);
    cairo_arc(cairo_, c.x, c.y, c.radius, 0, 2 * std::numbers::pi);
    paint(c.style, false);
  }

  void operator()(const Outline& o) {
    trace(o.path);
    paint(o.style, false);
  }

  void operator()(const CellGroup& group) {
    cairo_save(cairo_);
    cairo_translate(cairo_, group.x, group.y);
    cairo_scale(cairo_, group.cell, group.cell);
    for (const Outline& o : group.paths) {
      // A pixel belongs to one cell: no seams, no blurred borders.
      cairo_set_antialias(
          cairo_, o.style.fill ? CAIRO_ANTIALIAS_NONE : CAIRO_ANTIALIAS_GRAY);
      trace(o.path);
      paint(o.style, false);
    }
    cairo_restore(cairo_);
  }

  void operator()(const Text& t) { draw_text(cairo_, t); }

 private:
  double edge(double v) const { return std::round(v * pixels_); }
  double whole_pixels(double width) const {
    return std::max(1.0, std::round(width * pixels_));
  }
  bool odd(double width) const { return std::fmod(whole_pixels(width), 2); }

  void trace(const Path& path) {
    for (const Path::Step& step : path.steps) {
      if (step.kind == Path::close)
        cairo_close_path(cairo_);
      else if (step.kind == Path::move)
        cairo_move_to(cairo_, step.x, step.y);
      else
        cairo_line_to(cairo_, step.x, step.y);
    }
  }

  // Fills and strokes the path that was traced.
  void paint(const Style& style, bool sharp) {
    if (style.opacity != 1) cairo_push_group(cairo_);
    if (style.fill) {
      set_source(cairo_, *style.fill);
      cairo_fill_preserve(cairo_);
    }
    if (style.stroke) {
      set_source(cairo_, *style.stroke);
      cairo_set_line_width(
          cairo_, sharp ? whole_pixels(style.width) / pixels_ : style.width);
      const int dashes = style.dash == Dash{} ? 0 : 4;
      cairo_set_dash(cairo_, style.dash.data(), dashes, 0);
      cairo_stroke_preserve(cairo_);
    }
    cairo_new_path(cairo_);
    if (style.opacity == 1) return;
    cairo_pop_group_to_source(cairo_);
    cairo_paint_with_alpha(cairo_, style.opacity);
  }

  cairo_t* cairo_;
  double pixels_;  // a point
};

cairo_status_t append(void* out, const unsigned char* data,
                      unsigned int length) {
  static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(data),
                                         length);
  return CAIRO_STATUS_SUCCESS;
}

void append_number(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift);
}

// The checksum of PNG chunks (ISO/IEC 15948, annex D).
std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

// Cairo leaves out how large a pixel is; with it, a page sets the picture at
// the size that the SVG has.
void add_resolution(std::string& png, double scale) {
  constexpr std::size_t kBehindHeader = 8 + 25;  // signature, IHDR
  const auto per_metre =
      static_cast<std::uint32_t>(std::lround(96 * scale / 0.0254));
  std::string chunk = "pHYs";
  append_number(chunk, per_metre);
  append_number(chunk, per_metre);
  chunk += '\1';  // the unit: metres
  std::string whole;
  append_number(whole, static_cast<std::uint32_t>(chunk.size() - 4));
  whole += chunk;
  append_number(whole, crc32(chunk));
  png.insert(kBehindHeader, whole);
}

}  // namespace

std::string write_png(const Drawing& drawing, double scale) {
  if (!(scale > 0))
    fail_input("[png] a scale of {}: it must be above 0", scale);
  const double pixels = kPixelsPerPoint * scale;
  const double width = std::ceil(drawing.width() * pixels - 1e-6);
  const double height = std::ceil(drawing.height() * pixels - 1e-6);
  if (width > kMostPixels || height > kMostPixels)
    fail_input(
        "[png] the picture has {} x {} pixels, PNG ends at {} either way here: "
        "draw it as SVG, or fewer layers and heads",
        width, height, kMostPixels);
  const std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)>
      surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24,
                                         static_cast<int>(width),
                                         static_cast<int>(height)),
              cairo_surface_destroy);
  const std::unique_ptr<cairo_t, decltype(&cairo_destroy)> cairo(
      cairo_create(surface.get()), cairo_destroy);
  set_source(cairo.get(), kPaper);
  cairo_paint(cairo.get());
  CairoPainter painter(cairo.get(), pixels);
  for (const Shape& shape : drawing.shapes()) std::visit(painter, shape);

  std::string png;
  const cairo_status_t drawn = cairo_status(cairo.get());
  const cairo_status_t written =
      drawn != CAIRO_STATUS_SUCCESS
          ? drawn
          : cairo_surface_write_to_png_stream(surface.get(), append, &png);
  if (written == CAIRO_STATUS_NO_MEMORY) throw std::bad_alloc();
  if (written != CAIRO_STATUS_SUCCESS)
    fail_internal("[png] Cairo: {}", cairo_status_to_string(written));
  add_resolution(png, scale);
  return png;
}

}  // namespace qkv::plot
