#include "qkv/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "qkv/autograd.h"
#include "qkv/error.h"
#include "qkv/ops.h"
#include "tests/cases/op_case.h"
#include "tests/support/compare.h"

namespace qkv::test {
namespace {

Tensor numbers(const Shape& shape, DType dtype = DType::f64, int seed = 1) {
  TorchRng rng(seed);
  return normal(shape, dtype, rng);
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::input);
    return e.what();
  }
  return "no error";
}

#define EXPECT_ERROR(call, text)                                   \
  EXPECT_NE(error_of([&] { call; }).find(text), std::string::npos) \
      << error_of([&] { call; })

TEST(Attention, EqualsSoftmaxOfProducts) {
  const Tensor q = numbers({2, 3, 4, 5}, DType::f64, 1);
  const Tensor k = numbers({2, 3, 6, 5}, DType::f64, 2);
  const Tensor v = numbers({2, 3, 6, 5}, DType::f64, 3);
  const Tensor weights =
      softmax(scale(matmul(q, transpose(k, 2, 3)), 1 / std::sqrt(5.0)));
  const AttentionResult got =
      attention(q, k, v, {.want_weights = WantWeights::all()});
  EXPECT_TRUE(near(got.weights, weights, 1e-14));
  EXPECT_TRUE(near(got.output, matmul(weights, v), 1e-14));
}

TEST(Attention, PackedFormsEqualTheSeparateOne) {
  // Bits, in both types: the numbers are the same, only their places differ.
  for (DType dtype : {DType::f32, DType::f64}) {
    const Tensor qkv = numbers({2, 7, 3 * 12}, dtype);
    const auto part = [](const Tensor& x, int parts, int i) {
      Tensor apart =
          reshape(x, {x.dim(0), x.dim(1), parts, 3, x.dim(2) / parts / 3});
      apart = reshape(slice(apart, 2, i, i + 1),
                      {x.dim(0), x.dim(1), 3, x.dim(2) / parts / 3});
      return transpose(apart, 1, 2);
    };
    const AttentionOptions causal{.mask = Mask::causal()};
    const Tensor together = self_attention(qkv, 3, causal).output;
    const Tensor apart =
        attention(part(qkv, 3, 0), part(qkv, 3, 1), part(qkv, 3, 2), causal)
            .output;
    EXPECT_TRUE(
        same_bits(together, reshape(transpose(apart, 1, 2), {2, 7, 12})));

    const Tensor q = numbers({2, 4, 12}, dtype, 4);
    const Tensor kv = numbers({2, 9, 24}, dtype, 5);
    const Tensor crossed = cross_attention(q, kv, 3).output;
    const Tensor alone =
        attention(part(q, 1, 0), part(kv, 2, 0), part(kv, 2, 1)).output;
    EXPECT_TRUE(
        same_bits(crossed, reshape(transpose(alone, 1, 2), {2, 4, 12})));
  }
}

TEST(Attention, CausalIsAlignedAtTheLastQueryAndKey) {
  // One query after four known keys sees all five.
  const Tensor q = numbers({1, 1, 1, 2}), k = numbers({1, 1, 5, 2});
  const AttentionResult one = attention(
      q, k, k, {.mask = Mask::causal(), .want_weights = WantWeights::all()});
  for (double w : one.weights.to_vector<double>()) EXPECT_GT(w, 0);
  // More queries than keys: the first see nothing, and are 0.
  const AttentionResult more = attention(k, q, q, {.mask = Mask::causal()});
  const std::vector<double> out = more.output.to_vector<double>();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(out[i], 0);
  EXPECT_NE(out[8], 0);
}

TEST(Attention, ABooleanMaskWithAnEmptyRow) {
  // The other rows are those of the call without that row; gradients are
  // finite.
  Tensor mask = Tensor::full({3, 4}, 1, DType::boolean);
  for (int j = 0; j < 4; ++j) mask.data<bool>()[2 * 4 + j] = false;
  for (DType dtype : {DType::f32, DType::f64}) {
    Tensor q = numbers({1, 1, 3, 4}, dtype);
    const Tensor k = numbers({1, 1, 4, 4}, dtype, 2);
    q.set_requires_grad();
    const AttentionResult got =
        attention(q, k, k,
                  {.mask = Mask::none().with_dense(mask),
                   .want_weights = WantWeights::all()});
    const Tensor free = attention(q.detach(), k, k).output;
    EXPECT_TRUE(
        same_bits(slice(got.output.detach(), 2, 0, 2), slice(free, 2, 0, 2)));
    for (const Tensor& x : {got.output, got.weights})
      for (double value :
           slice(x.detach(), 2, 2, 3).to(DType::f64).to_vector<double>())
        EXPECT_EQ(value, 0);
    backward(sum(got.output));
    const auto gradient = q.grad().to(DType::f64).to_vector<double>();
    for (int c = 0; c < 4; ++c) EXPECT_EQ(gradient[8 + c], 0);
    for (double g : gradient) EXPECT_TRUE(std::isfinite(g));
  }
}

TEST(Attention, ASequenceOfLengthZero) {
  const Tensor x = numbers({2, 1, 4, 3});
  const AttentionOptions options{.mask = Mask::none().with_key_lengths(
                                     Tensor::from<std::int64_t>({2}, {4, 0}))};
  const auto out = attention(x, x, x, options).output.to_vector<double>();
  for (int i = 0; i < 12; ++i) {
    EXPECT_NE(out[i], 0);
    EXPECT_EQ(out[12 + i], 0);
  }
}

TEST(Attention, NanBehindTheMaskStaysThere) {
  for (DType dtype : {DType::f32, DType::f64}) {
    Tensor k = numbers({1, 1, 2, 3}, dtype);
    const Tensor q = numbers({1, 1, 2, 3}, dtype, 2);
    slice(k, 2, 1, 2).fill(std::numeric_limits<double>::quiet_NaN());
    const AttentionOptions causal{.mask = Mask::causal()};
    const Tensor dirty = attention(q, k, k, causal).output;
    slice(k, 2, 1, 2).fill(0);
    const Tensor clean = attention(q, k, k, causal).output;
    EXPECT_TRUE(same_bits(slice(dirty, 2, 0, 1), slice(clean, 2, 0, 1)));
    for (double x : slice(dirty, 2, 1, 2).to(DType::f64).to_vector<double>())
      EXPECT_TRUE(std::isnan(x));
  }
}

TEST(Attention, TheScaleComesFromTheHeadsWidth) {
  // Width 64, 4 heads, q and k one-hot: a score of 1/4, not 1/8.
  Tensor qkv = Tensor::zeros({1, 2, 3 * 64}, DType::f64);
  qkv.data<double>()[0] = qkv.data<double>()[64] = 1;
  const Tensor weights =
      self_attention(qkv, 4, {.want_weights = WantWeights::heads({0})}).weights;
  EXPECT_EQ(weights.shape().str(), "(1,1,2,2)");
  EXPECT_NEAR(weights.to_vector<double>()[0],
              std::exp(0.25) / (std::exp(0.25) + 1), 1e-15);
}

TEST(Attention, WeightsOfChosenHeads) {
  const Tensor qkv = numbers({2, 9, 3 * 20}, DType::f32);
  const AttentionResult all =
      self_attention(qkv, 5, {.want_weights = WantWeights::all()});
  const AttentionResult some =
      self_attention(qkv, 5, {.want_weights = WantWeights::heads({3, 1})});
  const AttentionResult none = self_attention(qkv, 5);
  EXPECT_FALSE(none.weights.defined());
  EXPECT_TRUE(same_bits(all.output, none.output));
  EXPECT_TRUE(same_bits(some.output, none.output));
  EXPECT_TRUE(
      same_bits(slice(some.weights, 1, 0, 1), slice(all.weights, 1, 3, 4)));
  EXPECT_TRUE(
      same_bits(slice(some.weights, 1, 1, 2), slice(all.weights, 1, 1, 2)));
  EXPECT_ERROR(
      self_attention(qkv, 5, {.want_weights = WantWeights::heads({5})}),
      "weights of head 5 are wanted; there are 5 heads");
}

TEST(Attention, AGradientThroughWeightsIsAnErrorNotACut) {
  Tensor qkv = numbers({1, 3, 6});
  qkv.set_requires_grad();
  const AttentionResult got =
      self_attention(qkv, 1, {.want_weights = WantWeights::all()});
  EXPECT_ERROR(backward(sum(got.weights)), "softmax(matmul)");
}

TEST(Attention, WeightsAreThoseBeforeDropout) {
  const Tensor qkv = numbers({1, 6, 12}, DType::f32);
  AttentionOptions options{.want_weights = WantWeights::all()};
  const AttentionResult plain = self_attention(qkv, 2, options);
  options.dropout = 0.5;
  options.rng = StepRng{.seed = 1};
  const AttentionResult dropped = self_attention(qkv, 2, options);
  EXPECT_TRUE(same_bits(plain.weights, dropped.weights));
  EXPECT_FALSE(same_bits(plain.output, dropped.output));
  EXPECT_TRUE(
      same_bits(dropped.output, self_attention(qkv, 2, options).output));
  options.rng->step = 1;
  EXPECT_FALSE(
      same_bits(dropped.output, self_attention(qkv, 2, options).output));
  options.rng->step = 0;
  options.stream = 1;
  EXPECT_FALSE(
      same_bits(dropped.output, self_attention(qkv, 2, options).output));
}

TEST(Attention, DropoutKeepsTheShareAsked) {
  // All values 1: an output is its row's kept weight over 1-p, on average 1.
  const Tensor q = Tensor::zeros({4, 4, 64, 8}, DType::f32);
  const Tensor v = Tensor::full({4, 4, 100, 8}, 1, DType::f32);
  const Tensor out = attention(q, Tensor::zeros(v.shape()), v,
                               {.dropout = 0.3, .rng = StepRng{.seed = 5}})
                         .output;
  // 102,400 decisions: the mean strays by 0.002.
  EXPECT_NEAR(mean(out).item(), 1, 0.008);
  EXPECT_ERROR(attention(q, v, v, {.dropout = 0.3}), "options.rng");
  EXPECT_ERROR(attention(q, v, v, {.dropout = 1.0, .rng = StepRng{}}),
               "dropout must be at least 0 and below 1, not 1");
  EXPECT_ERROR(attention(q, v, v, {.dropout = -0.1, .rng = StepRng{}}),
               "not -0.1");
  EXPECT_ERROR(attention(q, v, v, {.dropout = std::nan(""), .rng = StepRng{}}),
               "not nan");
}

TEST(Attention, AlibiSlopes) {
  // One query, two keys, q = 0: the weights tell the slope of each head.
  const auto slopes = [](std::int64_t heads) {
    const Tensor zero = Tensor::zeros({1, heads, 1, 2}, DType::f64);
    const Tensor kv = Tensor::zeros({1, heads, 2, 2}, DType::f64);
    const Tensor weights =
        attention(Tensor::zeros({1, heads, 1, 2}, DType::f64), kv, kv,
                  {.mask = Mask::causal().with_alibi(),
                   .want_weights = WantWeights::all()})
            .weights;
    std::vector<double> result;
    const auto w = weights.to_vector<double>();
    for (std::int64_t h = 0; h < heads; ++h)
      result.push_back(-std::log2(w[2 * h + 1] / w[2 * h]) * std::log(2));
    return result;
  };
  const auto expect = [](const std::vector<double>& got,
                         const std::vector<double>& exponents) {
    ASSERT_EQ(got.size(), exponents.size());
    for (std::size_t h = 0; h < got.size(); ++h)
      EXPECT_NEAR(-got[h], std::exp2(-exponents[h]), 1e-12);
  };
  expect(slopes(8), {1, 2, 3, 4, 5, 6, 7, 8});
  expect(slopes(1), {8});
  expect(slopes(3), {4, 8, 2});
  expect(slopes(12), {1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5});
}

TEST(Attention, TheChoiceHasAReason) {
  const AttentionShape small{1, 1, 4, 4, 4, DType::f32};
  AttentionShape twice = small;
  twice.dtype = DType::f64;
  EXPECT_EQ(choose_attention(small).kernel, AttentionKernel::flash);
  EXPECT_FALSE(choose_attention(small).reason.empty());
  EXPECT_EQ(choose_attention(twice).kernel, AttentionKernel::reference);
  EXPECT_NE(choose_attention(twice).reason.find("f64"), std::string::npos);
  const AttentionOptions fast{.path = runtime::Path::fast};
  EXPECT_ERROR(choose_attention(twice, fast), "f32, not f64");
  const Tensor x = numbers({1, 1, 4, 4});
  EXPECT_ERROR(attention(x, x, x, fast), "f32, not f64");
  const runtime::UsePath use(runtime::Path::reference);
  EXPECT_EQ(choose_attention(small).kernel, AttentionKernel::reference);
  EXPECT_EQ(choose_attention(small, fast).kernel, AttentionKernel::flash);
}

TEST(Attention, ErrorsNameBothShapes) {
  const Tensor q = numbers({2, 3, 4, 5});
  EXPECT_ERROR(attention(q, numbers({2, 3, 4, 6}), numbers({2, 3, 4, 6})),
               "queries (2,3,4,5), keys (2,3,4,6)");
  EXPECT_ERROR(attention(q, numbers({2, 3, 7, 5}), numbers({2, 3, 4, 5})),
               "keys (2,3,7,5) and values (2,3,4,5)");
  EXPECT_ERROR(attention(q, q, numbers({2, 3, 4, 5}, DType::f32)), "mixes");
  EXPECT_ERROR(attention(q, q, Tensor()), "undefined");
  EXPECT_ERROR(self_attention(numbers({2, 4, 30}), 4),
               "width of 10 is not divisible by 4 heads");
  EXPECT_ERROR(self_attention(numbers({2, 4, 30}), 0), "by 0 heads");
  EXPECT_ERROR(self_attention(numbers({2, 4, 31}), 1), "(2,4,31)");
  EXPECT_ERROR(cross_attention(numbers({2, 4, 8}), numbers({2, 5, 8}), 2),
               "(2,4,8) and keys with values (2,5,8)");
}

TEST(Attention, ErrorsOfMasks) {
  const Tensor x = numbers({2, 1, 4, 3});
  const auto run = [&](const Mask& mask) {
    attention(x, x, x, {.mask = mask});
  };
  EXPECT_ERROR(Mask::window(0), "a window of 0 keys");
  EXPECT_ERROR(run(Mask::none().with_key_lengths(
                   Tensor::from<std::int64_t>({2}, {4, 5}))),
               "5 of sequence 1 is outside 0 … 4");
  EXPECT_ERROR(run(Mask::none().with_key_lengths(
                   Tensor::from<std::int64_t>({3}, {4, 4, 4}))),
               "must be (2) integers");
  EXPECT_ERROR(run(Mask::none().with_key_lengths(Tensor::zeros({2}))),
               "not f32 (2)");
  EXPECT_ERROR(run(Mask::none().with_dense(Tensor::zeros({4, 5}))),
               "f32 (4,5) does not broadcast to (B,H,T,S) = (2,1,4,4)");
  EXPECT_ERROR(run(Mask::none().with_dense(Tensor::zeros({4, 4}, DType::i64))),
               "i64 (4,4) does not broadcast");
  Tensor learned = Tensor::zeros({4, 4}, DType::f64);
  learned.set_requires_grad();
  EXPECT_ERROR(run(Mask::none().with_dense(learned)),
               "requires a gradient, and none flows to a mask");
  const NoGrad none;
  run(Mask::none().with_dense(learned));  // nothing would be cut
}

TEST(Attention, DenseMasksBroadcast) {
  const Tensor x = numbers({2, 3, 4, 5}), y = numbers({2, 3, 6, 5});
  Tensor full = Tensor::empty({2, 3, 4, 6}, DType::f64);
  for (const Shape& shape : {Shape{2, 3, 4, 6}, Shape{4, 6}, Shape{6},
                             Shape{2, 1, 1, 6}, Shape{1, 3, 4, 1}, Shape{}}) {
    SCOPED_TRACE(shape.str());
    const Tensor bias = numbers(shape, DType::f64, 9);
    full = add(Tensor::zeros({2, 3, 4, 6}, DType::f64), bias);
    const AttentionOptions small{.mask = Mask::none().with_dense(bias)};
    const AttentionOptions large{.mask = Mask::none().with_dense(full)};
    EXPECT_TRUE(same_bits(attention(x, y, y, small).output,
                          attention(x, y, y, large).output));
  }
}

TEST(Attention, SizesOfZero) {
  for (DType dtype : {DType::f32, DType::f64})
    for (const auto& [q_shape, k_shape] :
         {std::pair<Shape, Shape>{{0, 2, 3, 4}, {0, 2, 5, 4}},
          {{2, 0, 3, 4}, {2, 0, 5, 4}},
          {{2, 2, 0, 4}, {2, 2, 5, 4}},
          {{2, 2, 3, 4}, {2, 2, 0, 4}},
          {{2, 2, 3, 0}, {2, 2, 5, 0}}}) {
      SCOPED_TRACE(q_shape.str() + k_shape.str());
      Tensor q = numbers(q_shape, dtype), k = numbers(k_shape, dtype),
             v = numbers(k_shape, dtype);
      for (Tensor* x : {&q, &k, &v}) x->set_requires_grad();
      const AttentionResult got = attention(
          q, k, v,
          {.mask = Mask::causal(), .want_weights = WantWeights::all()});
      EXPECT_EQ(got.output.shape(), q_shape);
      EXPECT_EQ(got.weights.shape(),
                (Shape{q_shape[0], q_shape[1], q_shape[2], k_shape[2]}));
      // Vectors of no numbers are all alike: query i of 3 sees i + 3 of 5 keys.
      if (q_shape[3] == 0) {
        const auto weights =
            got.weights.detach().to(DType::f64).to_vector<double>();
        for (std::size_t i = 0; i < weights.size(); ++i) {
          const std::size_t seen = i / 5 % 3 + 3;
          EXPECT_NEAR(weights[i], i % 5 < seen ? 1.0 / seen : 0, 1e-6);
        }
      }
      backward(sum(got.output));
      for (const Tensor& x : {q, k, v}) EXPECT_EQ(x.grad().shape(), x.shape());
      for (const Tensor& x :
           {got.output.detach(), q.grad(), k.grad(), v.grad()})
        for (double value : x.to(DType::f64).to_vector<double>())
          EXPECT_EQ(value, 0);
    }
  const Tensor none = numbers({2, 0, 12});
  EXPECT_EQ(self_attention(none, 2).output.shape().str(), "(2,0,4)");
}

TEST(Attention, OneInputTwiceCollectsBothGradients) {
  Tensor x = numbers({1, 1, 5, 3});
  x.set_requires_grad();
  backward(sum(mul(attention(x, x, x).output, numbers({1, 1, 5, 3}))));
  Tensor q = x.detach().clone(), k = q.clone(), v = q.clone();
  for (Tensor* t : {&q, &k, &v}) t->set_requires_grad();
  backward(sum(mul(attention(q, k, v).output, numbers({1, 1, 5, 3}))));
  EXPECT_TRUE(near(x.grad(), add(add(q.grad(), k.grad()), v.grad()), 1e-14));
}

}  // namespace
}  // namespace qkv::test
