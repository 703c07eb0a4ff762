// A bit map: dark where the bit is set, nowhere else.
#include <gtest/gtest.h>

#include "qkv/plot_course.h"
#include "tests/plot/picture.h"
#include "tests/support/errors.h"

namespace qkv::plot {
namespace {

TEST(BitMap, IsDarkWhereTheBitIsSet) {
  BitMap map;
  map.meaning = "dead";
  map.rows = 2, map.columns = 3;
  map.cells = {true, true, false, false, false, true};
  const auto picture = checked_svg(draw_bit_map(map));
  int paths = 0;
  for (const Element& element : picture) {
    if (element.name != "path") continue;
    ++paths;
    // Cells (0,0) and (0,1) are one piece, (1,2) another.
    std::string d = element.attributes.at("d");
    for (char& c : d)
      if (c == ',') c = ' ';
    EXPECT_EQ(std::count(d.begin(), d.end(), 'M'), 2) << d;
    EXPECT_NE(d.find("M0 0"), d.npos) << d;
    EXPECT_NE(d.find("M2 1"), d.npos) << d;
  }
  EXPECT_EQ(paths, 1);
  EXPECT_TRUE(text_element(picture, "dead: 50.0 % of all"));
}

TEST(BitMap, MayBeAllOrNoneAndRefusesWhatDoesNotFit) {
  BitMap map;
  map.rows = 1, map.columns = 2;
  map.cells = {false, false};
  EXPECT_TRUE(
      some_text_contains(checked_svg(draw_bit_map(map)), ": 0.0 % of all"));
  map.cells = {true, true};
  EXPECT_TRUE(
      some_text_contains(checked_svg(draw_bit_map(map)), ": 100.0 % of all"));
  map.columns = 3;
  EXPECT_ERROR(input, "2 cells are not 1 x 3", draw_bit_map(map));
  map.rows = 0;
  EXPECT_ERROR(input, "cells are not 0 x 3", draw_bit_map(map));
}

}  // namespace
}  // namespace qkv::plot
