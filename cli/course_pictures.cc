#include "cli/course_pictures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check.h"

namespace qkv::cli {
namespace {

constexpr std::int64_t kMostNames = 512;  // that one picture can hold

// The first of the model's tensors that `wanted` takes; else an error that says
// what the model lacks.
template <class Wanted>
Tensor tensor_of(const Bundle& bundle, const char* what, Wanted wanted) {
  for (const NamedTensor& one : bundle.model->state())
    if (wanted(one)) return one.tensor;
  fail_input("{}: a model of kind {} has no {}", bundle.path,
             bundle.model->config().kind(), what);
}

std::vector<std::string> names_of_tokens(const Bundle& bundle) {
  std::vector<std::string> names;
  for (std::int64_t id = 0; id < bundle.tokenizer->vocab_size(); ++id)
    names.push_back(bundle.tokenizer->token_text(id));
  return names;
}

struct Matrix {
  std::size_t rows, width;
  std::vector<double> x;  // (rows, width)
  double* row(std::size_t i) { return &x[i * width]; }
};

void centre(Matrix& m) {
  for (std::size_t c = 0; c < m.width; ++c) {
    double sum = 0;
    for (std::size_t r = 0; r < m.rows; ++r) sum += m.row(r)[c];
    for (std::size_t r = 0; r < m.rows; ++r)
      m.row(r)[c] -= sum / static_cast<double>(m.rows);
  }
}

double squares(const std::vector<double>& v) {
  return std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
}

// Where each row lies along the direction v.
std::vector<double> along(Matrix& m, const std::vector<double>& v) {
  std::vector<double> at;
  for (std::size_t r = 0; r < m.rows; ++r)
    at.push_back(std::inner_product(v.begin(), v.end(), m.row(r), 0.0));
  return at;
}

// The direction in which the rows vary most, of length 1, by the power method:
// XᵀX v, again and again, from the longest row. Where two directions are almost
// alike it may give one between them, which shows as much.
std::vector<double> strongest_direction(Matrix& m) {
  std::vector<double> v(m.width, 0);
  for (std::size_t r = 0; r < m.rows; ++r) {
    const std::vector<double> row(m.row(r), m.row(r) + m.width);
    if (squares(row) > squares(v)) v = row;
  }
  for (int i = 0; i < 3000; ++i) {
    const double length = std::sqrt(squares(v));
    if (length == 0) return v;  // all rows are alike
    for (double& x : v) x /= length;
    const std::vector<double> at = along(m, v);
    std::vector<double> next(m.width, 0);
    for (std::size_t r = 0; r < m.rows; ++r)
      for (std::size_t c = 0; c < m.width; ++c) next[c] += at[r] * m.row(r)[c];
    const double longer = std::sqrt(squares(next));
    double moved = 0;
    for (std::size_t c = 0; c < m.width; ++c)
      moved = std::max(moved, std::abs(next[c] - longer * v[c]));
    if (moved <= 1e-13 * longer) return v;
    v = std::move(next);
  }
  const double length = std::sqrt(squares(v));
  for (double& x : v) x /= length;
  return v;
}

// Where the rows lie along the strongest direction, which is taken out of them.
std::vector<double> take_component(Matrix& m) {
  const std::vector<double> v = strongest_direction(m);
  std::vector<double> at = along(m, v);
  for (std::size_t r = 0; r < m.rows; ++r)
    for (std::size_t c = 0; c < m.width; ++c) m.row(r)[c] -= at[r] * v[c];
  // An axis may point either way: the farthest token lies on its right.
  const auto farthest = std::max_element(
      at.begin(), at.end(),
      [](double a, double b) { return std::abs(a) < std::abs(b); });
  if (farthest != at.end() && *farthest < 0)
    for (double& x : at) x = -x;
  return at;
}

}  // namespace

plot::PairCounts pair_counts_of(const Bundle& bundle, const std::string& name) {
  const Tensor counts =
      tensor_of(bundle, "counts of pairs (--model counts has)",
                [](const NamedTensor& one) { return one.name == "counts"; });
  plot::PairCounts pairs;
  pairs.tokens = names_of_tokens(bundle);
  if (std::ssize(pairs.tokens) > kMostNames)
    fail_input("{}: {} tokens are too many for one picture; {} at most",
               bundle.path, pairs.tokens.size(), kMostNames);
  pairs.counts = counts.to_vector<std::int64_t>();
  pairs.title = name + ": which token followed which, how often";
  pairs.about = "pairs of tokens counted by the run " + name;
  return pairs;
}

plot::Scatter embedding_of(const Bundle& bundle, const std::string& name) {
  const Tensor table =
      tensor_of(bundle, "token embedding", [](const NamedTensor& one) {
        return one.name == "wte.weight" || one.name.ends_with(".wte.weight");
      });
  const std::vector<std::string> names = names_of_tokens(bundle);
  const std::size_t rows = names.size();
  if (std::ssize(names) > kMostNames)
    fail_input("{}: {} tokens are too many for one picture; {} at most",
               bundle.path, rows, kMostNames);
  // A row of no token (for what lies before a text) comes last: left out.
  Matrix m{rows, static_cast<std::size_t>(table.dim(1)),
           table.to_vector<double>()};
  m.x.resize(rows * m.width);
  plot::Scatter scatter;
  scatter.about = "the token embedding of the run " + name;
  std::vector<double> at[2];
  if (m.width == 2) {
    scatter.title = name + ": token embedding, its two dimensions";
    scatter.x_name = "dimension 0";
    scatter.y_name = "dimension 1";
    for (std::size_t r = 0; r < rows; ++r)
      for (int k = 0; k < 2; ++k) at[k].push_back(m.row(r)[k]);
  } else {
    scatter.title = fmt::format(
        "{}: token embedding, two principal components of {} dimensions", name,
        m.width);
    centre(m);
    const double all = squares(m.x);
    for (int k = 0; k < 2; ++k) {
      at[k] = take_component(m);
      (k == 0 ? scatter.x_name : scatter.y_name) =
          fmt::format("principal component {}, {:.0f} % of the variance", k + 1,
                      all > 0 ? 100 * squares(at[k]) / all : 0);
    }
  }
  for (std::size_t r = 0; r < rows; ++r)
    scatter.dots.push_back({at[0][r], at[1][r], names[r]});
  return scatter;
}

}  // namespace qkv::cli
