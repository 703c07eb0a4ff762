// What every picture has to be, and finding things in one.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "qkv/plot.h"
#include "tests/plot/xml.h"
#include "tests/support/pattern.h"

namespace qkv::plot {

// Well formed, only presentation attributes, every coordinate a number inside
// the picture. Returns the elements.
inline std::vector<Element> checked_svg(const std::string& svg) {
  std::vector<Element> elements = parse_xml(svg);
  static const std::set<std::string> kNames = {
      "svg", "title", "desc", "g", "rect", "line", "path", "circle", "text"};
  const Element& root = elements[0];
  EXPECT_EQ(root.name, "svg");
  double width = 0, height = 0;
  EXPECT_EQ(std::sscanf(root.attributes.at("viewBox").c_str(), "0 0 %lf %lf",
                        &width, &height),
            2);
  EXPECT_GT(width, 0);
  EXPECT_GT(height, 0);
  for (const Element& element : elements) {
    EXPECT_TRUE(kNames.contains(element.name)) << element.name;
    for (const auto& [name, value] : element.attributes) {
      EXPECT_EQ(name.rfind("on", 0), std::string::npos) << name;
      EXPECT_NE(name, "style");
      EXPECT_EQ(name.find("href"), std::string::npos);
      EXPECT_EQ(value.find("url("), std::string::npos) << value;
      if (name == "d" || name == "x" || name == "y" || name == "width" ||
          name == "height" || name == "cx" || name == "cy") {
        EXPECT_FALSE(test::found(value, "nan|inf|e[+-]?[0-9]", true))
            << name << value;
      }
    }
    for (const char* x : {"x", "x1", "x2", "cx"})
      if (element.attributes.contains(x)) {
        EXPECT_GE(element.number(x), 0) << element.name;
        EXPECT_LE(element.number(x), width) << element.name;
      }
    for (const char* y : {"y", "y1", "y2", "cy"})
      if (element.attributes.contains(y)) {
        EXPECT_GE(element.number(y), 0) << element.name << element.text;
        EXPECT_LE(element.number(y), height) << element.name << element.text;
      }
  }
  return elements;
}

// The same, and it can be drawn as PNG.
inline std::vector<Element> checked_svg(const Picture& picture) {
  EXPECT_TRUE(picture.png(0.5).starts_with("\x89PNG\r\n\x1a\n"));
  return checked_svg(picture.svg());
}

inline const Element* text_element(const std::vector<Element>& elements,
                                   const std::string& text) {
  for (const Element& element : elements)
    if (element.name == "text" && element.text == text) return &element;
  return nullptr;
}

inline bool some_text_contains(const std::vector<Element>& elements,
                               const std::string& part) {
  for (const Element& element : elements)
    if (element.name == "text" && element.text.find(part) != std::string::npos)
      return true;
  return false;
}

}  // namespace qkv::plot
