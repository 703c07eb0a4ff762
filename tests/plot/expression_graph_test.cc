// Boxes stand to the right of what they are made of, none over another.
#include "plot/drawing.h"
#include "qkv/plot_course.h"
#include "tests/plot/picture.h"
#include "tests/support/errors.h"

namespace qkv::plot {
namespace {

struct Box {
  double left, right, top, bottom;
};

// All boxes: the rectangles with an edge.
std::vector<Box> boxes_of(const Picture& picture) {
  std::vector<Box> boxes;
  for (const Shape& shape : picture.drawing().shapes())
    if (const auto* r = std::get_if<Rect>(&shape); r && r->style.stroke)
      boxes.push_back({r->x, r->x + r->width, r->y, r->y + r->height});
  return boxes;
}

void expect_apart(const std::vector<Box>& boxes) {
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_TRUE(
          boxes[i].right < boxes[j].left || boxes[j].right < boxes[i].left ||
          boxes[i].bottom < boxes[j].top || boxes[j].bottom < boxes[i].top)
          << i << " and " << j;
}

TEST(ExpressionGraph, RunsFromLeftToRight) {
  // a·b + c, and a again.
  const ExpressionGraph graph{.title = "an expression",
                              .values = {{"a", 2, -3.5, "", {}},
                                         {"b", -3, 2, "", {}},
                                         {"", -6, 1, "*", {0, 1}},
                                         {"c", 10, 1, "", {}},
                                         {"", 4, 1, "+", {2, 3}},
                                         {"L", 6, 1, "+", {4, 0}}}};
  const Picture picture = draw_expression_graph(graph);
  const auto elements = checked_svg(picture);
  const auto boxes = boxes_of(picture);
  ASSERT_EQ(boxes.size(), 6u);
  expect_apart(boxes);
  for (std::size_t i = 0; i < graph.values.size(); ++i)
    for (const int from : graph.values[i].from)
      EXPECT_LT(boxes[from].right, boxes[i].left) << from << " to " << i;
  for (const char* text : {"a", "b", "c", "L", "data −6.0000", "grad −3.5000"})
    EXPECT_TRUE(text_element(elements, text)) << text;
  int circles = 0, threads = 0;
  for (const Element& element : elements) circles += element.name == "circle";
  EXPECT_EQ(circles, 3);
  // A line from each of six inputs to a circle, and from each circle on.
  for (const Shape& shape : picture.drawing().shapes())
    if (const auto* line = std::get_if<Line>(&shape))
      threads += line->x2 - line->x1 > 1;
  EXPECT_EQ(threads, 9);
}

TEST(ExpressionGraph, KeepsAManyTimesUsedValuesUsersApart) {
  ExpressionGraph graph;
  graph.values.push_back({"x", 1, 0, "", {}});
  graph.values.push_back({"y", 1, 0, "", {}});
  for (int i = 0; i < 5; ++i)
    graph.values.push_back({"", 1, 0, "operation", {0, 1}});
  graph.values.push_back({"sum", 1, 0, "+", {2, 3, 4, 5, 6}});
  const Picture picture = draw_expression_graph(graph);
  checked_svg(picture);
  EXPECT_EQ(boxes_of(picture).size(), 8u);
  expect_apart(boxes_of(picture));
}

TEST(ExpressionGraph, LeavesOutWhatTheResultDoesNotNeed) {
  ExpressionGraph graph;
  graph.values = {{"unused", 1, 0, "", {}}, {"r", 2, 1, "", {}}};
  EXPECT_FALSE(
      text_element(checked_svg(draw_expression_graph(graph)), "unused"));
}

TEST(ExpressionGraph, RefusesWhatIsNoGraph) {
  EXPECT_ERROR(input, "no value", draw_expression_graph({}));
  ExpressionGraph graph;
  graph.values = {{"a", 1, 0, "+", {0}}};
  EXPECT_ERROR(input, "value 0 is made of value 0",
               draw_expression_graph(graph));
}

}  // namespace
}  // namespace qkv::plot
