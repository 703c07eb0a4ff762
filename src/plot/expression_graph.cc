// micrograd's picture of an expression: boxes with data and gradient, circles
// for the operations between them.
#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "plot/drawing.h"
#include "plot/number.h"
#include "qkv/plot_course.h"

namespace qkv::plot {
namespace {

constexpr double kMargin = 4, kPad = 5, kBoxHeight = 17, kRowPitch = 27;
constexpr double kRadius = 9, kGap = 14;

struct Placed {
  int column = 0;
  double y = 0;      // in rows, the middle
  double width = 0;  // of the box, in points
  double x = 0;      // its left edge
  bool reached = false;
};

std::string data_text(const GraphValue& v) {
  return "data " + fixed_text(v.data, 4);
}
std::string gradient_text(const GraphValue& v) {
  return "grad " + fixed_text(v.gradient, 4);
}
double part_width(const std::string& text) {
  return text.empty() ? 0 : sans_width(text, kTextSize) + 2 * kPad;
}

void check(const ExpressionGraph& graph) {
  if (graph.values.empty()) fail_input("[draw_expression_graph] no value");
  for (std::size_t i = 0; i < graph.values.size(); ++i)
    for (const int from : graph.values[i].from)
      if (from < 0 || from >= static_cast<int>(i))
        fail_input(
            "[draw_expression_graph] value {} is made of value {}; those "
            "come before it",
            i, from);
}

// Each value as far left of the result as the longest way to it; given values
// below each other in the order in which the result comes to them, the others
// in the middle of what they are made of, and in no row twice.
class Layout {
 public:
  explicit Layout(const std::vector<GraphValue>& values)
      : values_(values), placed_(values.size()) {
    const int last = static_cast<int>(values.size()) - 1;
    placed_[last].reached = true;
    for (int i = last; i >= 0; --i)
      if (placed_[i].reached)
        for (const int from : values[i].from) {
          placed_[from].reached = true;
          placed_[from].column =
              std::max(placed_[from].column, placed_[i].column + 1);
        }
    int columns = 0;
    for (const Placed& p : placed_) columns = std::max(columns, p.column);
    for (Placed& p : placed_) p.column = columns - p.column;
    done_.assign(values.size(), false);
    place(last);
    for (int column = 0; column <= columns; ++column) part(column);
    place_columns(columns + 1);
  }

  const Placed& operator[](int i) const { return placed_[i]; }
  double width() const { return width_; }
  double rows() const { return rows_; }

 private:
  void place(int i) {
    if (done_[i]) return;
    done_[i] = true;
    double sum = 0;
    for (const int from : values_[i].from) {
      place(from);
      sum += placed_[from].y;
    }
    const auto n = static_cast<double>(values_[i].from.size());
    placed_[i].y = n > 0 ? sum / n : given_++;
  }

  void part(int column) {
    std::vector<Placed*> here;
    for (Placed& p : placed_)
      if (p.reached && p.column == column) here.push_back(&p);
    std::stable_sort(here.begin(), here.end(),
                     [](auto* a, auto* b) { return a->y < b->y; });
    for (std::size_t i = 1; i < here.size(); ++i)
      here[i]->y = std::max(here[i]->y, here[i - 1]->y + 1);
    for (const Placed* p : here) rows_ = std::max(rows_, p->y + 1);
  }

  // A column holds the circles of its operations, then its boxes.
  void place_columns(int columns) {
    double x = kMargin;
    for (int column = 0; column < columns; ++column) {
      double widest = 0;
      bool made = false;
      for (std::size_t i = 0; i < values_.size(); ++i) {
        Placed& p = placed_[i];
        if (!p.reached || p.column != column) continue;
        p.width = part_width(values_[i].name) +
                  part_width(data_text(values_[i])) +
                  part_width(gradient_text(values_[i]));
        widest = std::max(widest, p.width);
        made |= !values_[i].from.empty();
      }
      if (made) x += 2 * kRadius + kGap;
      for (Placed& p : placed_)
        if (p.reached && p.column == column) p.x = x;
      x += widest + kGap;
    }
    width_ = x - kGap + kMargin;
  }

  const std::vector<GraphValue>& values_;
  std::vector<Placed> placed_;
  std::vector<bool> done_;
  int given_ = 0;  // values that are made of nothing, so far
  double width_ = 0, rows_ = 0;
};

void draw_box(Drawing& drawing, const GraphValue& value, double x, double y,
              double width) {
  drawing.rect(x, y - kBoxHeight / 2, width, kBoxHeight,
               {.fill = kPaper, .stroke = kEdge, .width = 0.6});
  bool first = true;
  for (const std::string& text :
       {value.name, data_text(value), gradient_text(value)}) {
    if (text.empty()) continue;
    if (!first)
      drawing.line(x, y - kBoxHeight / 2, x, y + kBoxHeight / 2,
                   stroked(kRule, 0.6));
    drawing.text(x + kPad, y + 2.5, text,
                 {.fill = kInk, .bold = first && !value.name.empty()});
    x += part_width(text);
    first = false;
  }
}

// Too long for its circle, an operation is set smaller.
void draw_operation(Drawing& drawing, const std::string& name, double x,
                    double y) {
  drawing.circle(
      x, y, kRadius,
      {.fill = sequential(Ground::light)[30], .stroke = kEdge, .width = 0.6});
  const double size =
      std::min(8.0, 8 * (2 * kRadius - 3) / sans_width(name, 8));
  drawing.text(x, y + 0.35 * size, name,
               {.size = size, .anchor = Anchor::middle, .fill = kInk});
}

}  // namespace

Picture draw_expression_graph(const ExpressionGraph& graph) {
  check(graph);
  const Layout layout(graph.values);
  const double top = kMargin + (graph.title.empty() ? 0 : 16);
  Drawing drawing(layout.width(), top + layout.rows() * kRowPitch + kMargin,
                  graph.title, graph.about);
  drawing.heading(kMargin, kMargin + kTitleSize, layout.width() - 2 * kMargin,
                  graph.title);
  const auto middle = [&](int i) {
    return top + (layout[i].y + 0.5) * kRowPitch;
  };
  const auto circle = [&](int i) { return layout[i].x - kGap / 2 - kRadius; };
  const int n = static_cast<int>(graph.values.size());
  const Style thread = stroked(kEdge, 0.7);
  for (int i = 0; i < n; ++i) {
    if (!layout[i].reached || graph.values[i].from.empty()) continue;
    for (const int from : graph.values[i].from)
      drawing.line(layout[from].x + layout[from].width, middle(from), circle(i),
                   middle(i), thread);
    drawing.line(circle(i), middle(i), layout[i].x, middle(i), thread);
  }
  for (int i = 0; i < n; ++i) {
    if (!layout[i].reached) continue;
    const GraphValue& value = graph.values[i];
    draw_box(drawing, value, layout[i].x, middle(i), layout[i].width);
    if (!value.from.empty())
      draw_operation(drawing, value.operation, circle(i), middle(i));
  }
  return picture_of(std::move(drawing));
}

}  // namespace qkv::plot
