#include "plot/png_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "core/text.h"
#include "plot/token_label.h"

namespace qkv::plot {
namespace {

// A character with the marks that combine with it.
struct Cluster {
  std::string text;
  int code_point;  // its first
};

std::vector<Cluster> clusters_of(std::string_view text) {
  std::vector<Cluster> clusters;
  for (std::size_t at = 0; at < text.size();) {
    int c = decode_utf8(text, at);
    if (c < 0) {
      ++at;
      c = 0xFFFD;
    }
    if (c < ' ') c = ' ';  // Cairo's strings end at NUL
    std::string one;
    append_utf8(one, static_cast<char32_t>(c));
    if (display_columns(one) > 0 || clusters.empty())
      clusters.push_back({std::move(one), c});
    else
      clusters.back().text += one;
  }
  return clusters;
}

// From left to right: each stretch from one right-to-left character to the
// last is turned around.
void put_in_visual_order(std::vector<Cluster>& clusters) {
  const auto leftwards = [](const Cluster& cluster) {
    return has_right_to_left(cluster.text);
  };
  const auto first = std::find_if(clusters.begin(), clusters.end(), leftwards);
  const auto last =
      std::find_if(clusters.rbegin(), clusters.rend(), leftwards).base();
  if (first < last) std::reverse(first, last);
}

bool has_glyph(cairo_scaled_font_t* font, const std::string& text) {
  cairo_glyph_t* glyphs = nullptr;
  int count = 0;
  cairo_scaled_font_text_to_glyphs(font, 0, 0, text.data(),
                                   static_cast<int>(text.size()), &glyphs,
                                   &count, nullptr, nullptr, nullptr);
  const bool all = std::none_of(glyphs, glyphs + count, [](const auto& glyph) {
    return glyph.index == 0;  // the font's own sign for "none"
  });
  cairo_glyph_free(glyphs);
  return all;
}

// A stretch that is drawn at once: text, or one character as a box.
struct Piece {
  std::string text;
  int missing = 0;  // the code point in a box
  double width = 0;
};

std::vector<Piece> pieces_of(cairo_t* cairo, const std::string& text,
                             double size) {
  cairo_scaled_font_t* font = cairo_get_scaled_font(cairo);
  std::vector<Cluster> clusters = clusters_of(text);
  put_in_visual_order(clusters);
  std::vector<Piece> pieces;
  for (const Cluster& cluster : clusters) {
    const bool ascii = cluster.text.size() == 1;
    if (!ascii && !has_glyph(font, cluster.text))
      pieces.push_back(
          {"", cluster.code_point, mono_width(cluster.text, size)});
    else if (pieces.empty() || pieces.back().missing != 0)
      pieces.push_back({cluster.text});
    else
      pieces.back().text += cluster.text;
  }
  for (Piece& piece : pieces) {
    if (piece.missing != 0) continue;
    cairo_text_extents_t extents;
    cairo_text_extents(cairo, piece.text.c_str(), &extents);
    piece.width = extents.x_advance;
  }
  return pieces;
}

// The code point in two rows of small digits.
void draw_box(cairo_t* cairo, const Piece& piece, double size) {
  const double width = piece.width - 0.1 * size, height = 0.86 * size;
  cairo_set_line_width(cairo, 0.06 * size);
  cairo_rectangle(cairo, 0.05 * size, -0.74 * size, width, height);
  cairo_stroke(cairo);
  const std::string digits = piece.missing > 0xFFFF
                                 ? fmt::format("{:06X}", piece.missing)
                                 : fmt::format("{:04X}", piece.missing);
  const std::size_t half = digits.size() / 2;
  const double digit_size =
      std::min(0.42 * size, 0.92 * width / (0.64 * static_cast<double>(half)));
  cairo_save(cairo);
  cairo_select_font_face(cairo, "DejaVu Sans Mono", CAIRO_FONT_SLANT_NORMAL,
                         CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cairo, digit_size);
  for (const bool lower : {false, true}) {
    const std::string row = digits.substr(lower ? half : 0, half);
    cairo_text_extents_t extents;
    cairo_text_extents(cairo, row.c_str(), &extents);
    cairo_move_to(cairo, (piece.width - extents.x_advance) / 2,
                  lower ? 0.06 * size : -0.35 * size);
    cairo_show_text(cairo, row.c_str());
  }
  cairo_restore(cairo);
}

}  // namespace

void set_font_options(cairo_t* cairo) {
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_set_font_options(cairo, options);
  cairo_font_options_destroy(options);
}

void draw_text(cairo_t* cairo, const Text& text) {
  const TextStyle& style = text.style;
  cairo_save(cairo);
  cairo_translate(cairo, text.x, text.y);
  cairo_rotate(cairo, style.turn * std::numbers::pi / 180);
  cairo_set_source_rgb(cairo, style.fill.r / 255.0, style.fill.g / 255.0,
                       style.fill.b / 255.0);
  cairo_select_font_face(
      cairo, style.mono ? "DejaVu Sans Mono" : "DejaVu Sans",
      CAIRO_FONT_SLANT_NORMAL,
      style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cairo, style.size);
  const std::vector<Piece> pieces = pieces_of(cairo, text.text, style.size);
  double width = 0;
  for (const Piece& piece : pieces) width += piece.width;
  cairo_translate(cairo,
                  style.anchor == Anchor::start    ? 0
                  : style.anchor == Anchor::middle ? -width / 2
                                                   : -width,
                  0);
  for (const Piece& piece : pieces) {
    if (piece.missing != 0) {
      draw_box(cairo, piece, style.size);
    } else {
      cairo_move_to(cairo, 0, 0);
      cairo_show_text(cairo, piece.text.c_str());
    }
    cairo_translate(cairo, piece.width, 0);
  }
  cairo_restore(cairo);
}

}  // namespace qkv::plot
