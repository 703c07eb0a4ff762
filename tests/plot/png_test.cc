// PNG: read back by Cairo's own reader, pixel by pixel; text of any bytes.
#include <cairo.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "plot/drawing.h"
#include "tests/plot/attention_case.h"
#include "tests/plot/picture.h"
#include "tests/support/errors.h"

namespace qkv::plot {
namespace {

struct Pixels {
  int width = 0, height = 0;
  std::vector<std::uint32_t> rgb;
  std::string at(int x, int y) const {
    const std::uint32_t p = rgb[static_cast<std::size_t>(y) * width + x];
    return hex({static_cast<std::uint8_t>(p >> 16),
                static_cast<std::uint8_t>(p >> 8),
                static_cast<std::uint8_t>(p)});
  }
};

Pixels read_png(const std::string& png) {
  std::string_view rest = png;
  const auto read = [](void* from, unsigned char* to, unsigned int length) {
    auto& rest = *static_cast<std::string_view*>(from);
    if (rest.size() < length) return CAIRO_STATUS_READ_ERROR;
    std::memcpy(to, rest.data(), length);
    rest.remove_prefix(length);
    return CAIRO_STATUS_SUCCESS;
  };
  const std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)>
      surface(cairo_image_surface_create_from_png_stream(read, &rest),
              cairo_surface_destroy);
  EXPECT_EQ(cairo_surface_status(surface.get()), CAIRO_STATUS_SUCCESS);
  Pixels pixels;
  pixels.width = cairo_image_surface_get_width(surface.get());
  pixels.height = cairo_image_surface_get_height(surface.get());
  const unsigned char* row = cairo_image_surface_get_data(surface.get());
  const int stride = cairo_image_surface_get_stride(surface.get());
  for (int y = 0; y < pixels.height; ++y, row += stride)
    for (int x = 0; x < pixels.width; ++x) {
      std::uint32_t pixel;
      std::memcpy(&pixel, row + 4 * x, 4);
      pixels.rgb.push_back(pixel & 0xFFFFFF);
    }
  return pixels;
}

// Of the picture's first matrix: where it is and how large its cells are.
CellGroup first_matrix(const std::vector<Element>& picture) {
  CellGroup place{};
  for (const Element& element : picture)
    if (element.name == "g") {
      EXPECT_EQ(std::sscanf(element.attributes.at("transform").c_str(),
                            "translate(%lf %lf) scale(%lf)", &place.x, &place.y,
                            &place.cell),
                3);
      return place;
    }
  ADD_FAILURE() << "no matrix";
  return place;
}

TEST(Png, EveryCellHasItsColour) {
  const Attention attention = random_attention(1, 1, 20, 20, true);
  const Picture picture = attention_head(attention, 0, 0);
  const CellGroup place = first_matrix(parse_xml(picture.svg()));
  const Pixels pixels = read_png(picture.png());
  constexpr double kPixels = 2 * 96.0 / 72;
  for (int q = 0; q < 20; ++q)
    for (int k = 0; k < 20; ++k) {
      // Beside the middle: a number may stand there.
      const int x = static_cast<int>((place.x + (k + 0.1) * place.cell) *
                                     kPixels),
                y = static_cast<int>((place.y + (q + 0.1) * place.cell) *
                                     kPixels);
      const double weight = attention.values[q * 20 + k];
      if (k > q) continue;
      EXPECT_EQ(
          pixels.at(x, y),
          hex(sequential(
              Ground::light)[static_cast<int>(255 * std::sqrt(weight) + 0.5)]))
          << q << "," << k;
    }
}

TEST(Png, HasTheSizeOfTheDrawing) {
  const Picture picture =
      picture_of(Drawing(72, 36, "a title", "what it shows"));
  for (const int scale : {1, 2, 3}) {
    const std::string png = picture.png(scale);
    const Pixels pixels = read_png(png);
    EXPECT_EQ(pixels.width, 96 * scale);
    EXPECT_EQ(pixels.height, 48 * scale);
    for (const std::uint32_t pixel : pixels.rgb) ASSERT_EQ(pixel, 0xFFFFFFu);
    // Dots a metre: 96 an inch at scale 1 are 3,780.
    const std::size_t at = png.find("pHYs");
    ASSERT_NE(at, png.npos);
    const auto byte = [&](int i) {
      return static_cast<unsigned char>(png[at + i]);
    };
    EXPECT_NEAR(byte(6) * 256 + byte(7), 3779.5 * scale, 0.6);
    EXPECT_EQ(byte(12), 1);
  }
}

TEST(Png, SameDrawingSameBytes) {
  const Attention attention = random_attention(2, 2, 9, 9, true);
  EXPECT_EQ(attention_grid(attention).png(), attention_grid(attention).png());
}

TEST(Png, HoldsTextOfAnyBytes) {
  std::mt19937 random(1);
  std::vector<std::string> texts = {
      "",         std::string(3, '\0'), "\n\r\t",     "<&\">", "\xff\xfe",
      "\xf0\x9f", "😀🏳️‍🌈", "שלום عليكم", "漢字",  "e\u0301\u0327",
      "\u202e",   "\U0010FFFD",         "\u0301"};
  for (int i = 0; i < 300; ++i) {
    std::string& text = texts.emplace_back();
    for (int length = 1 + random() % 6; length > 0; --length)
      text += static_cast<char>(random());
  }
  Drawing drawing(200, 40, "", "");
  for (const std::string& text : texts)
    for (const bool mono : {false, true})
      drawing.text(100, 20, text,
                   {.anchor = Anchor::middle, .mono = mono, .turn = -90});
  EXPECT_EQ(read_png(write_png(drawing, 2)).width, 534);
}

TEST(Png, CharactersThatTheFontLacksStayApart) {
  const auto drawn = [](std::string text) {
    Drawing drawing(40, 20, "", "");
    drawing.text(5, 15, std::move(text), {.mono = true});
    return read_png(write_png(drawing, 2)).rgb;
  };
  EXPECT_NE(drawn("😀"), drawn("😁"));
  EXPECT_NE(drawn("漢"), drawn("字"));
  EXPECT_NE(drawn("אב"), drawn("בא"));
  EXPECT_EQ(drawn("\xff"), drawn("\uFFFD"));
}

TEST(Png, RefusesWhatIsTooLarge) {
  EXPECT_ERROR(input, "32767", picture_of(Drawing(100, 20000, "", "")).png(2));
  EXPECT_ERROR(input, "scale of 0", picture_of(Drawing(9, 9, "", "")).png(0));
  EXPECT_ERROR(input, "scale of nan",
               picture_of(Drawing(9, 9, "", "")).png(std::nan("")));
}

}  // namespace
}  // namespace qkv::plot
