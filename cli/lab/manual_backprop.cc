#include "cli/lab/manual_backprop.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "qkv/autograd.h"
#include "qkv/ops.h"

namespace qkv::cli::lab {
namespace {

constexpr double kEps = 1e-5;

Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
Tensor operator*(double a, const Tensor& b) { return scale(b, a); }
Tensor operator-(const Tensor& a) { return scale(a, -1); }
Tensor operator-(const Tensor& a, const Tensor& b) { return a + -b; }
Tensor shifted(const Tensor& x, double by) {
  return x + Tensor::scalar(by, x.dtype());
}
Tensor turned(const Tensor& x) { return transpose(x, 0, 1); }
Tensor column_sums(const Tensor& x) { return sum(x, 0, true); }
Tensor row_sums(const Tensor& x) { return sum(x, 1, true); }

template <class T>
Tensor powers(const Tensor& x, double exponent) {
  std::vector<T> values = x.to_vector<T>();
  for (T& value : values) value = std::pow(value, static_cast<T>(exponent));
  return Tensor::from(x.shape(), values);
}
Tensor powers(const Tensor& x, double exponent) {
  return x.dtype() == DType::f32 ? powers<float>(x, exponent)
                                 : powers<double>(x, exponent);
}
// x^exponent of each element, differentiable.
Tensor power(const Tensor& x, double exponent) {
  return custom_op("power", powers(x, exponent), {x},
                   [x = x.detach(), exponent](const Tensor& gradient) {
                     return std::vector<Tensor>{
                         gradient * (exponent * powers(x, exponent - 1))};
                   });
}

// (n, V): 1 at the index of each row.
Tensor one_hot(const std::vector<std::int64_t>& index, std::int64_t vocab,
               DType dtype) {
  std::vector<double> hot(index.size() * static_cast<std::size_t>(vocab), 0);
  for (std::size_t row = 0; row < index.size(); ++row)
    hot[row * vocab + index[row]] = 1;
  return Tensor::from(Shape{static_cast<std::int64_t>(index.size()), vocab},
                      hot)
      .to(dtype);
}

std::vector<std::int64_t> largest_of_each_row(const Tensor& x) {
  const auto values = x.to_vector<double>();
  const std::int64_t columns = x.dim(1);
  std::vector<std::int64_t> index;
  for (std::int64_t row = 0; row < x.dim(0); ++row) {
    const auto begin = values.begin() + row * columns;
    index.push_back(std::max_element(begin, begin + columns) - begin);
  }
  return index;
}

// Every result of the forward pass by its name, and what the tape says of it.
class Results {
 public:
  // x itself, known as `name` and watched: what comes back through it.
  Tensor operator()(const std::string& name, const Tensor& x) {
    value_[name] = x.detach();
    return custom_op(name, x.clone(), {x}, [this, name](const Tensor& g) {
      tape_[name] = g.clone();
      return std::vector<Tensor>{g};
    });
  }
  const Tensor& value(const std::string& name) const { return value_.at(name); }
  const Tensor& tape(const std::string& name) const { return tape_.at(name); }

 private:
  std::map<std::string, Tensor> value_, tape_;
};

struct Given {
  Tensor ids;
  Tensor hot;  // (n, V), of the targets
  double n;    // examples
};

Tensor forward(const MlpWeights& weights, const Given& given, Results& r) {
  const double n = given.n;
  const Tensor c = r("C", weights.c), w1 = r("W1", weights.w1),
               b1 = r("b1", weights.b1), w2 = r("W2", weights.w2),
               b2 = r("b2", weights.b2), gain = r("bngain", weights.gain),
               bias = r("bnbias", weights.bias);
  const Tensor emb = r("emb", embedding(c, given.ids));
  const Tensor embcat =
      r("embcat", reshape(emb, {given.ids.dim(0), MlpWeights::kContext *
                                                      MlpWeights::kEmbedding}));
  const Tensor hprebn = r("hprebn", matmul(embcat, w1) + b1);
  const Tensor bnmeani = r("bnmeani", 1 / n * column_sums(hprebn));
  const Tensor bndiff = r("bndiff", hprebn - bnmeani);
  const Tensor bndiff2 = r("bndiff2", power(bndiff, 2));
  const Tensor bnvar = r("bnvar", 1 / (n - 1) * column_sums(bndiff2));
  const Tensor bnvar_inv = r("bnvar_inv", power(shifted(bnvar, kEps), -0.5));
  const Tensor bnraw = r("bnraw", bndiff * bnvar_inv);
  const Tensor hpreact = r("hpreact", gain * bnraw + bias);
  const Tensor h = r("h", tanh(hpreact));
  const Tensor logits = r("logits", matmul(h, w2) + b2);
  const Tensor logit_maxes = r("logit_maxes", max(logits, 1, true));
  const Tensor norm_logits = r("norm_logits", logits - logit_maxes);
  const Tensor counts = r("counts", exp(norm_logits));
  const Tensor counts_sum = r("counts_sum", row_sums(counts));
  const Tensor counts_sum_inv = r("counts_sum_inv", power(counts_sum, -1));
  const Tensor probs = r("probs", counts * counts_sum_inv);
  const Tensor logprobs = r("logprobs", log(probs));
  return -1 / n * sum(logprobs * given.hot);
}

// d loss / d C: each row gets what came to it wherever it was looked up.
Tensor to_table(const Tensor& demb, const Tensor& ids, std::int64_t vocab) {
  const auto gradient = demb.to_vector<double>();
  const auto id = ids.to_vector<std::int64_t>();
  std::vector<double> table(
      static_cast<std::size_t>(vocab) * MlpWeights::kEmbedding, 0);
  for (std::size_t i = 0; i < id.size(); ++i)
    for (std::int64_t j = 0; j < MlpWeights::kEmbedding; ++j)
      table[id[i] * MlpWeights::kEmbedding + j] +=
          gradient[i * MlpWeights::kEmbedding + j];
  return Tensor::from(Shape{vocab, MlpWeights::kEmbedding}, table)
      .to(demb.dtype());
}

template <class T>
CheckedGradient compare(const std::string& name, const Tensor& mine,
                        const Tensor& tape) {
  const auto a = mine.to_vector<T>(), b = tape.to_vector<T>();
  CheckedGradient checked{name, mine, 0, 0, true, true};
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i], difference = std::abs(x - y);
    checked.size = std::max(checked.size, std::abs(y));
    // NaN must not be passed over.
    if (!(difference <= checked.largest)) checked.largest = difference;
    checked.exact = checked.exact && x == y;
    checked.close = checked.close && difference <= 1e-8 + 1e-5 * std::abs(y);
  }
  return checked;
}

CheckedGradient checked(const std::string& name, const Tensor& mine,
                        const Results& r) {
  const Tensor& tape = r.tape(name);
  const Tensor alike = reshape(mine, tape.shape());  // sums keep their axis
  return tape.dtype() == DType::f32 ? compare<float>(name, alike, tape)
                                    : compare<double>(name, alike, tape);
}

// The formulas, from the loss back to the table. What feeds two results gets
// the sum of what comes from both.
void backward_by_hand(const Given& given, const Results& r,
                      ManualBackprop& found) {
  const double n = given.n;
  const auto value = [&](const char* name) { return r.value(name); };
  const auto add_row = [&](const char* name, const Tensor& gradient) {
    found.named.push_back(checked(name, gradient, r));
  };
  const Tensor dlogprobs = -1 / n * given.hot;
  add_row("logprobs", dlogprobs);
  const Tensor dprobs = power(value("probs"), -1) * dlogprobs;
  add_row("probs", dprobs);
  const Tensor dcounts_sum_inv = row_sums(value("counts") * dprobs);
  add_row("counts_sum_inv", dcounts_sum_inv);
  const Tensor dcounts_sum = -power(value("counts_sum"), -2) * dcounts_sum_inv;
  add_row("counts_sum", dcounts_sum);
  const Tensor dcounts = value("counts_sum_inv") * dprobs + dcounts_sum;
  add_row("counts", dcounts);
  const Tensor dnorm_logits = value("counts") * dcounts;
  add_row("norm_logits", dnorm_logits);
  const Tensor dlogit_maxes = -row_sums(dnorm_logits);
  add_row("logit_maxes", dlogit_maxes);
  const Tensor logits = value("logits");
  const Tensor dlogits = dnorm_logits + one_hot(largest_of_each_row(logits),
                                                logits.dim(1), logits.dtype()) *
                                            dlogit_maxes;
  add_row("logits", dlogits);
  found.dlogits = dlogits;
  const Tensor dh = matmul(dlogits, turned(value("W2")));
  add_row("h", dh);
  add_row("W2", matmul(turned(value("h")), dlogits));
  add_row("b2", column_sums(dlogits));
  // 1 - h² in f64: where h is near 1 the difference has few digits.
  const Tensor h = value("h").to(DType::f64);
  const Tensor dhpreact = shifted(-(h * h), 1).to(dh.dtype()) * dh;
  add_row("hpreact", dhpreact);
  add_row("bngain", column_sums(value("bnraw") * dhpreact));
  add_row("bnbias", column_sums(dhpreact));
  const Tensor dbnraw = value("bngain") * dhpreact;
  add_row("bnraw", dbnraw);
  const Tensor bndiff = value("bndiff");
  const Tensor dbnvar_inv = column_sums(bndiff * dbnraw);
  add_row("bnvar_inv", dbnvar_inv);
  const Tensor dbnvar =
      -0.5 * power(shifted(value("bnvar"), kEps), -1.5) * dbnvar_inv;
  add_row("bnvar", dbnvar);
  // Every row of bndiff2 counts alike in its column's variance.
  const Tensor ones = Tensor::full(bndiff.shape(), 1, bndiff.dtype());
  const Tensor dbndiff2 = 1 / (n - 1) * ones * dbnvar;
  add_row("bndiff2", dbndiff2);
  const Tensor dbndiff = value("bnvar_inv") * dbnraw + 2 * bndiff * dbndiff2;
  add_row("bndiff", dbndiff);
  const Tensor dbnmeani = -column_sums(dbndiff);
  add_row("bnmeani", dbnmeani);
  const Tensor dhprebn = dbndiff + 1 / n * ones * dbnmeani;
  add_row("hprebn", dhprebn);
  const Tensor dembcat = matmul(dhprebn, turned(value("W1")));
  add_row("embcat", dembcat);
  add_row("W1", matmul(turned(value("embcat")), dhprebn));
  add_row("b1", column_sums(dhprebn));
  const Tensor demb = reshape(dembcat, value("emb").shape());
  add_row("emb", demb);
  add_row("C", to_table(demb, given.ids, value("C").dim(0)));

  const auto at_once = [&](const char* name, const Tensor& gradient) {
    found.at_once.push_back(checked(name, gradient, r));
  };
  at_once("logits", 1 / n * (softmax(logits) - given.hot));
  const Tensor bnraw = value("bnraw");
  at_once("hprebn", 1 / n * (value("bngain") * value("bnvar_inv")) *
                        (n * dhpreact - column_sums(dhpreact) -
                         n / (n - 1) * bnraw * column_sums(dhpreact * bnraw)));
}

}  // namespace

MlpWeights draw_mlp_weights(TorchRng& rng, std::int64_t vocab) {
  const auto draw = [&](const Shape& shape, double factor) {
    Tensor x = Tensor::empty(shape);
    rng.randn(x);
    return scale(x, factor);
  };
  constexpr std::int64_t kIn = MlpWeights::kContext * MlpWeights::kEmbedding;
  MlpWeights weights;
  weights.c = draw({vocab, MlpWeights::kEmbedding}, 1);
  weights.w1 =
      draw({kIn, MlpWeights::kHidden}, 5 / 3.0 / std::sqrt(double{kIn}));
  weights.b1 = draw({MlpWeights::kHidden}, 0.1);
  weights.w2 = draw({MlpWeights::kHidden, vocab}, 0.1);
  weights.b2 = draw({vocab}, 0.1);
  weights.gain = shifted(draw({1, MlpWeights::kHidden}, 0.1), 1);
  weights.bias = draw({1, MlpWeights::kHidden}, 0.1);
  return weights;
}

ManualBackprop manual_backprop(const MlpWeights& weights, const Tensor& ids,
                               const Tensor& targets, DType dtype) {
  MlpWeights mine;
  const auto take = [&](Tensor MlpWeights::*which) {
    mine.*which = (weights.*which).to(dtype);
    (mine.*which).set_requires_grad();
  };
  for (const auto which :
       {&MlpWeights::c, &MlpWeights::w1, &MlpWeights::b1, &MlpWeights::w2,
        &MlpWeights::b2, &MlpWeights::gain, &MlpWeights::bias})
    take(which);
  const Given given{
      ids, one_hot(targets.to_vector<std::int64_t>(), weights.c.dim(0), dtype),
      static_cast<double>(ids.dim(0))};
  Results results;
  const Tensor loss = forward(mine, given, results);
  backward(loss);
  ManualBackprop found;
  found.loss = loss.item();
  const NoGrad no_grad;
  backward_by_hand(given, results, found);
  return found;
}

}  // namespace qkv::cli::lab
