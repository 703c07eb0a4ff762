// Pictures of training and of attention: SVG and PNG for paper and page, and
// text for the terminal. Plain numbers in, a string out; nothing is written to
// a file or printed.
//
// Computation runs down and right in every picture: layer 0 is the top row,
// token 0 the leftmost column. Colours are fixed (no picture is stretched to
// its own maximum) and each picture prints its scale. All of them can be read
// in grey and by colour-blind people. An SVG has presentation attributes only:
// no style sheet, script or reference to anything outside.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "qkv/export.h"

namespace qkv::plot {

class Drawing;

// A picture that is ready to be written.
class QKV_API Picture {
 public:
  explicit Picture(std::shared_ptr<const Drawing> drawing);

  std::string svg() const;
  // `scale` 1 is 96 pixels an inch, 2 fits screens and most print. Set in
  // DejaVu Sans. Throws ErrorKind::input where either side would pass 32,767
  // pixels.
  std::string png(double scale = 2) const;

  const Drawing& drawing() const { return *drawing_; }  // the library's own

 private:
  std::shared_ptr<const Drawing> drawing_;
};

// Pictures in one row, their tops aligned. Throws when there is none.
QKV_API Picture side_by_side(const std::vector<Picture>& pictures);

// ---- Loss curve -------------------------------------------------------------

struct Point {
  double x = 0;  // the step
  double y = 0;  // a NaN or infinity breaks the line and is counted beside it
};

// A horizontal line to compare with: {3.296, "ln 27 = 3.296, guessing"}.
struct Level {
  double y = 0;
  std::string name;
};

struct LossCurve {
  std::string title;
  std::string about;  // into <desc>: model, data, the command that draws it
  std::string x_name = "step";
  std::string y_name = "loss, nats per token";
  std::vector<Point> train;       // raw, ascending x
  std::vector<Point> validation;  // ascending x
  std::vector<Level> levels;
  double last_x = 0;   // where the run is planned to end; 0: at the last point
  bool log_x = false;  // then what lies before 1 is drawn at 1
  int smoothing = 0;   // values that the smooth line averages; 0: a fiftieth
  double width_mm = 178;  // 85 for one column of a page
};

QKV_API Picture loss_curve(const LossCurve& curve);

struct Series {
  std::string name;
  std::vector<Point> points;  // ascending x
};

// Curves of several runs, told apart by colour and dash, named at their ends.
struct Curves {
  std::string title;
  std::string about;
  std::string x_name = "step";
  std::string y_name = "loss, nats per token";
  std::vector<Series> series;
  std::vector<Level> levels;
  bool log_x = false;
  bool show_last = true;  // the last value, beside the name
  double width_mm = 178;
};

QKV_API Picture draw_curves(const Curves& curves);

// ---- Attention --------------------------------------------------------------

// A token's bytes: any bytes, also a part of a UTF-8 character.
struct Token {
  std::string bytes;
  bool special = false;  // shown as ⟦endoftext⟧, never mistaken for typed text
};

// Marks a key that the mask hides from a query: drawn as nothing, not as zero.
inline constexpr float kHidden = -std::numeric_limits<float>::infinity();

enum class Quantity {
  weights,  // 0…1, coloured by the square root, so that 0.01 differs from 0
  scores,  // coloured by score − the row's maximum, −8…0, as softmax sees them
};

// A head that a grid frames, and what it calls it.
struct Mark {
  int layer = 0, head = 0;  // as they are shown
  std::string name;
};

struct Attention {
  std::string title;
  std::string about;  // into <desc>
  int layers = 1;
  int heads = 1;
  int queries = 0;
  int keys = 0;
  std::vector<float> values;        // (layers, heads, queries, keys), row-major
  std::vector<Token> query_tokens;  // none: positions are shown
  std::vector<Token> key_tokens;    // none: the query tokens, if as many
  Quantity quantity = Quantity::weights;
  bool causal = false;  // hides keys behind query + keys − queries, whatever
                        // their values
  int first_layer = 0;  // the numbers that layers and heads are shown with
  int first_head = 0;
  // What a drawn grid calls its rows and columns instead, one name each.
  std::vector<std::string> row_names, column_names;
  std::vector<Mark> marks;  // of a grid; others than its heads are left out
};

// One row of small pictures a layer, one column a head.
QKV_API Picture attention_grid(const Attention& attention);

// One head, with tokens along both axes and numbers where they fit. layer and
// head count from 0 in `attention`.
QKV_API Picture attention_head(const Attention& attention, int layer, int head);

// The heads of one or more texts as a page: one HTML file, nothing in it asks
// for another. All texts need the same layers, heads and quantity; weights are
// kept as 12-bit codes of their square roots, scores as codes between the
// smallest and the largest.
QKV_API std::string attention_html(const std::vector<Attention>& texts);

// ---- Terminal ---------------------------------------------------------------

struct Terminal {
  int columns = 80;
  bool colour = false;   // 256 colours
  bool unicode = false;  // else ASCII only
  bool dark = true;      // the ground: a large value is light on a dark one
};

QKV_API std::string curves_text(const Curves& curves, const Terminal& terminal);

// The same two pictures as text, no line wider than terminal.columns.
QKV_API std::string attention_grid_text(const Attention& attention,
                                        const Terminal& terminal);
QKV_API std::string attention_head_text(const Attention& attention, int layer,
                                        int head, const Terminal& terminal);

}  // namespace qkv::plot
