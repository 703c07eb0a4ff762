// The line between two classes lies where the score is 0.
#include "plot/drawing.h"
#include "qkv/plot_course.h"
#include "tests/plot/picture.h"
#include "tests/support/errors.h"

namespace qkv::plot {
namespace {

// A circle of radius 1: 4 (1 - x² - y²) is positive inside.
DecisionBoundary circle(int parts) {
  DecisionBoundary b{.title = "a circle",
                     .x_low = -2,
                     .x_high = 2,
                     .y_low = -2,
                     .y_high = 2,
                     .columns = parts,
                     .rows = parts};
  for (int row = 0; row < parts; ++row)
    for (int column = 0; column < parts; ++column) {
      const double x = -2 + (column + 0.5) * 4 / parts;
      const double y = -2 + (row + 0.5) * 4 / parts;
      b.scores.push_back(4 * (1 - x * x - y * y));
    }
  b.examples = {{0, 0, true}, {1.5, 1.5, false}, {-1.5, -1.75, false}};
  return b;
}

// Of the frame, the last rectangle without a fill.
const Rect& frame_of(const Drawing& drawing) {
  const Rect* frame = nullptr;
  for (const Shape& shape : drawing.shapes())
    if (const auto* rect = std::get_if<Rect>(&shape); rect && !rect->style.fill)
      frame = rect;
  return *frame;
}

TEST(DecisionBoundary, LiesWhereTheScoreIsZero) {
  const Picture picture = draw_decision_boundary(circle(80));
  checked_svg(picture);
  const Rect& frame = frame_of(picture.drawing());
  int points = 0;
  for (const Shape& shape : picture.drawing().shapes())
    if (const auto* line = std::get_if<Outline>(&shape);
        line && line->style.stroke)
      for (const Path::Step& step : line->path.steps) {
        const double x = -2 + 4 * (step.x - frame.x) / frame.width;
        const double y = 2 - 4 * (step.y - frame.y) / frame.height;
        EXPECT_NEAR(std::hypot(x, y), 1, 0.002);
        ++points;
      }
  // Twice as many as squares that a circle of 40 across passes: about 8 · 20.
  EXPECT_GT(points, 250);
}

TEST(DecisionBoundary, ColoursTheGroundByTheScore) {
  const Picture picture = draw_decision_boundary(circle(80));
  const Rect& frame = frame_of(picture.drawing());
  // What was drawn last over a place counts; paths are rectangles one after
  // another, each of four corners and its end.
  const auto colour = [&](double x, double y) {
    const double px = frame.x + (x + 2) / 4 * frame.width;
    const double py = frame.y + (2 - y) / 4 * frame.height;
    Rgb found = kPaper;
    for (const Shape& shape : picture.drawing().shapes())
      if (const auto* path = std::get_if<Outline>(&shape);
          path && path->style.fill)
        for (std::size_t i = 0; i + 4 < path->path.steps.size(); i += 5) {
          const auto& low = path->path.steps[i];
          const auto& high = path->path.steps[i + 2];
          if (low.x <= px && px < high.x && high.y <= py && py < low.y)
            found = *path->style.fill;
        }
    return found;
  };
  // Scores of about 3.3, 0.6, -0.6, -4 along a line, up and to the side alike.
  const double at[] = {0.42, 0.92, 1.06, 1.42};
  std::vector<Rgb> along, up;
  for (const double x : at) along.push_back(colour(x, 0.03));
  for (const double y : at) up.push_back(colour(0.03, -y));
  EXPECT_EQ(along, up);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < i; ++j) EXPECT_NE(along[i], along[j]) << i << j;
}

TEST(DecisionBoundary, MarksTheClassesByShape) {
  const auto picture = checked_svg(draw_decision_boundary(circle(10)));
  int circles = 0;
  for (const Element& element : picture) circles += element.name == "circle";
  EXPECT_EQ(circles, 2) << "one example and the legend's";
}

TEST(DecisionBoundary, RefusesWhatDoesNotFit) {
  DecisionBoundary b = circle(10);
  b.scores[7] = INFINITY;
  EXPECT_ERROR(input, "a score is inf", draw_decision_boundary(b));
  b.scores.pop_back();
  EXPECT_ERROR(input, "99 scores for 10 x 10", draw_decision_boundary(b));
  b = circle(10);
  b.x_high = -2;
  EXPECT_ERROR(input, "a plane from (-2, -2) to (-2, 2)",
               draw_decision_boundary(b));
  EXPECT_ERROR(input, "0 x 0", draw_decision_boundary({}));
}

}  // namespace
}  // namespace qkv::plot
