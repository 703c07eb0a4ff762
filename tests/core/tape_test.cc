#include "core/tape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "core/tensor_impl.h"
#include "qkv/autograd.h"
#include "qkv/error.h"
#include "qkv/runtime.h"

namespace qkv {
namespace {

const Op kAdd("test.add"), kMul("test.mul"), kFail("test.fail"),
    kForget("test.forget"), kArgmax("test.argmax");

Tensor values(std::vector<double> x) {
  return Tensor::from<double>({static_cast<std::int64_t>(x.size())}, x);
}
Tensor leaf(std::vector<double> x) {
  Tensor tensor = values(std::move(x));
  tensor.set_requires_grad();
  return tensor;
}
std::vector<double> grad(const Tensor& x) {
  return x.grad().to_vector<double>();
}
using V = std::vector<double>;

template <class F>
Tensor zip(const Tensor& a, const Tensor& b, F f) {
  Tensor out = Tensor::empty(a.shape(), DType::f64);
  for (std::int64_t i = 0; i < a.numel(); ++i)
    out.data<double>()[i] = f(a.data<double>()[i], b.data<double>()[i]);
  return out;
}

struct Nothing {};
Tensor add(const Tensor& a, const Tensor& b) {
  Tensor out = zip(a, b, [](double x, double y) { return x + y; });
  record(kAdd, out, {a, b}, Nothing{},
         [](const Nothing&, const Tensor& g, Gradients& inputs) {
           if (inputs.wants(0)) inputs.add(0, g);
           if (inputs.wants(1)) inputs.add(1, g);
         });
  return out;
}

struct Factors {
  Tensor a, b;
};
Tensor mul(const Tensor& a, const Tensor& b) {
  auto times = [](double x, double y) { return x * y; };
  Tensor out = zip(a, b, times);
  record(kMul, out, {a, b}, Factors{a.detach(), b.detach()},
         [times](const Factors& saved, const Tensor& g, Gradients& inputs) {
           if (inputs.wants(0)) inputs.add(0, zip(g, saved.b, times));
           if (inputs.wants(1)) inputs.add(1, zip(g, saved.a, times));
         });
  return out;
}

// The identity, whose backward throws as long as *fails.
Tensor failing(const Tensor& a, std::shared_ptr<bool> fails) {
  Tensor out = a.detach();
  record(kFail, out, {a, a}, fails,
         [](const std::shared_ptr<bool>& saved, const Tensor& g,
            Gradients& inputs) {
           inputs.add(0, g);  // one of two is given before it breaks
           if (*saved) throw std::runtime_error("broken");
           inputs.add(1, g);
         });
  return out;
}

std::string message(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Tape, LeavesAccumulate) {
  Tensor x = leaf({2}), y = leaf({5});
  backward(mul(x, y));
  EXPECT_EQ(grad(x), V{5});
  EXPECT_EQ(grad(y), V{2});
  backward(mul(x, y));
  EXPECT_EQ(grad(x), V{10});
  x.zero_grad();
  backward(mul(x, y));
  EXPECT_EQ(grad(x), V{5});
  EXPECT_EQ(grad(y), V{6});
}

TEST(Tape, ALeafMayBeTheLossItself) {
  Tensor x = leaf({2});
  backward(x);
  backward(x);
  EXPECT_EQ(grad(x), V{2});
}

TEST(Tape, ATensorUsedTwiceGetsBothGradients) {
  Tensor x = leaf({3});
  backward(mul(x, x));
  EXPECT_EQ(grad(x), V{6});
  Tensor y = leaf({3});
  Tensor z = add(y, y);  // an inner tensor, twice
  backward(mul(z, z));
  EXPECT_EQ(grad(y), V{24});  // d (2y)² = 8y
}

TEST(Tape, ADiamondIsWalkedOncePerNode) {
  // x feeds a short and a long way that meet: the gradient of x's node must be
  // whole before it goes on.
  Tensor x = leaf({2});
  Tensor root = mul(x, x);                        // x²
  Tensor a = mul(root, root);                     // x⁴
  Tensor b = mul(mul(mul(root, root), root), a);  // x¹⁰
  backward(add(add(a, b), root));
  EXPECT_EQ(grad(x), V{4 * 8 + 10 * 512 + 2 * 2});
}

TEST(Tape, TwoToTheThirtyPathsTakeThirtyNodes) {
  Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 30; ++i) y = add(y, y);
  backward(y);
  EXPECT_EQ(grad(x), V{1 << 30});
}

TEST(Tape, ADeepGraphDoesNotOverflowTheStack) {
  Tensor x = leaf({1}), one = values({1});
  {
    Tensor y = x;
    for (int i = 0; i < 200000; ++i) y = add(y, one);
    EXPECT_EQ(y.item(), 200001);
    backward(y);
    EXPECT_EQ(grad(x), V{1});
  }
  {  // freed without a backward; through saved tensors too
    Tensor y = x;
    for (int i = 0; i < 200000; ++i)
      y = custom_op("keep", add(y, one), {y},
                    [y](const Tensor& g) { return std::vector{g}; });
  }
}

TEST(Tape, ASecondBackwardIsAnErrorUnlessKept) {
  Tensor x = leaf({3});
  Tensor y = mul(x, x), z = mul(y, y);
  backward(z, /*keep_graph=*/true);
  backward(z, /*keep_graph=*/true);
  backward(z);
  EXPECT_EQ(grad(x), V{3 * 4 * 27});
  const std::string text = message([&] { backward(z); });
  EXPECT_TRUE(contains(text, "test.mul")) << text;
  EXPECT_TRUE(contains(text, "keep_graph")) << text;
  // A new loss over a spent part is the same error, not a silent cut.
  const Tensor w = add(y, y);
  EXPECT_THROW(backward(w), Error);
  EXPECT_EQ(grad(x), V{3 * 4 * 27});
}

TEST(Tape, SavedTensorsAreFreedByBackward) {
  const auto before = runtime::memory().in_use;
  Tensor x = leaf(std::vector<double>(1000, 1.0));
  const Tensor y = mul(mul(x, x), mul(x, x));
  const auto recorded = runtime::memory().in_use;
  backward_from(y, values(std::vector<double>(1000, 1.0)));
  x.zero_grad();
  // Left are x and y: what lay between them is gone, although y has history.
  EXPECT_LT(runtime::memory().in_use, recorded);
  EXPECT_LE(runtime::memory().in_use - before, 2 * 8192);
}

TEST(Tape, NoGradRecordsNothing) {
  Tensor x = leaf({3});
  Tensor y;
  {
    NoGrad outer;
    EXPECT_FALSE(grad_enabled());
    { NoGrad inner; }
    EXPECT_FALSE(grad_enabled());
    y = mul(x, x);
    {
      EnableGrad again;
      EXPECT_TRUE(grad_enabled());
      EXPECT_TRUE(mul(x, x).requires_grad());
    }
    EXPECT_FALSE(grad_enabled());
  }
  EXPECT_TRUE(grad_enabled());
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(contains(message([&] { backward(y); }), "requires a gradient"));
  EXPECT_FALSE(mul(y, y).requires_grad());  // nothing to record
}

TEST(Tape, ConstantsGetNoGradient) {
  Tensor x = leaf({3}), c = values({5});
  backward(mul(x, c));
  EXPECT_EQ(grad(x), V{5});
  EXPECT_FALSE(c.grad().defined());
  Tensor d = mul(x, x).detach();
  EXPECT_FALSE(d.requires_grad());
}

TEST(Tape, BackwardStartsFromOneNumber) {
  Tensor x = leaf({1, 2});
  EXPECT_TRUE(contains(message([&] { backward(mul(x, x)); }), "(2)"));
  EXPECT_THROW(backward(Tensor()), Error);
  backward_from(mul(x, x), values({1, 10}));
  EXPECT_EQ(grad(x), (V{2, 40}));
  EXPECT_THROW(backward_from(mul(x, x), values({1})), Error);
  EXPECT_THROW(backward_from(mul(x, x), Tensor::zeros({2})), Error);
  EXPECT_THROW(backward_from(mul(x, x), Tensor()), Error);
}

TEST(Tape, AGradientGivenToSeveralIsCopiedOnWriting) {
  // add hands one tensor to both inputs, of which one collects more.
  Tensor x = leaf({1}), y = leaf({1});
  const Tensor a = mul(x, values({1})), b = mul(y, values({1}));
  const Tensor more = mul(a, values({10}));
  backward(add(add(a, b), more));
  EXPECT_EQ(grad(x), V{11});
  EXPECT_EQ(grad(y), V{1});
}

TEST(Tape, AGradientThatTheUserHoldsStaysAsItWas) {
  Tensor x = leaf({3});
  backward(mul(x, x));
  const Tensor held = x.grad();
  backward(mul(x, x));
  EXPECT_EQ(held.to_vector<double>(), V{6});
  EXPECT_EQ(grad(x), V{12});
}

TEST(Tape, TheSeedGradientStaysTheCallers) {
  Tensor x = leaf({1}), y = leaf({1});
  const Tensor seed = values({1});
  Tensor z = add(x, y);
  backward_from(add(z, z), seed);
  EXPECT_EQ(seed.to_vector<double>(), V{1});
  // Nor do two leaves share one gradient.
  x.grad().fill(100);
  EXPECT_EQ(grad(y), V{2});
}

TEST(Tape, ReachingAnOpWithoutBackwardThrowsItsName) {
  Tensor x = leaf({3});
  Tensor y = values({0});
  record_without_backward(kArgmax, y, {x}, "it is a choice");
  EXPECT_TRUE(y.requires_grad());
  const Tensor z = mul(y, x);
  const std::string text = message([&] { backward(z); });
  EXPECT_TRUE(contains(text, "test.argmax")) << text;
  EXPECT_TRUE(contains(text, "it is a choice")) << text;
  {
    NoGrad no_grad;
    Tensor w = values({0});
    record_without_backward(kArgmax, w, {x}, "it is a choice");
    EXPECT_FALSE(w.requires_grad());
  }
}

TEST(Tape, AnOpThatForgetsAGradientIsCaught) {
  // For an inner tensor and for a leaf, the latter with an older gradient.
  Tensor x = leaf({3});
  x.set_grad(values({1}));
  for (const Tensor& input : {x, mul(x, x)}) {
    Tensor y = input.detach();
    record(kForget, y, {input}, Nothing{},
           [](const Nothing&, const Tensor&, Gradients&) {});
    const std::string text = message([&] { backward(y); });
    EXPECT_TRUE(contains(text, "test.forget")) << text;
  }
}

TEST(Tape, AGradientOfTheWrongShapeIsCaught) {
  Tensor x = leaf({3, 4});
  Tensor y = values({1});
  record(kForget, y, {x}, Nothing{},
         [](const Nothing&, const Tensor& g, Gradients& inputs) {
           inputs.add(0, g);
         });
  EXPECT_THROW(backward(y), Error);
  EXPECT_FALSE(x.grad().defined());
}

TEST(Tape, AnExceptionLeavesNothingBehind) {
  auto fails = std::make_shared<bool>(true);
  Tensor x = leaf({3});
  Tensor inner = mul(x, x);
  Tensor y = failing(inner, fails);
  // other waits in the queue when y's backward throws.
  Tensor other = mul(inner, inner);
  Tensor z = add(y, add(mul(y, y), other));
  EXPECT_EQ(message([&] { backward(z, /*keep_graph=*/true); }), "broken");
  EXPECT_TRUE(grad_enabled());
  EXPECT_FALSE(x.grad().defined());
  // The same graph, once mended, gives the gradient as if nothing had been:
  // d/dx of 2·(y + y²) + inner², y = inner = x² (failing passes each twice).
  *fails = false;
  backward(z);
  EXPECT_EQ(grad(x), V{(2 * (1 + 2 * 9) + 2 * 9) * 6});
  // And new graphs work.
  x.zero_grad();
  backward(mul(x, x));
  EXPECT_EQ(grad(x), V{6});
}

TEST(Tape, GradientsWithGapsAreMadeWhole) {
  Tensor x = leaf({1, 2, 3});
  Tensor y = x.detach();
  const Tensor wide = values({1, 0, 2, 0, 3, 0});
  record(kForget, y, {x, x}, Nothing{},
         [&](const Nothing&, const Tensor&, Gradients& inputs) {
           const Tensor strided = view_of(wide, {3}, {2});
           inputs.add(0, strided);
           inputs.add(1, strided);
         });
  backward_from(y, values({1, 1, 1}));
  EXPECT_EQ(grad(x), (V{2, 4, 6}));
  EXPECT_EQ(wide.to_vector<double>(), (V{1, 0, 2, 0, 3, 0}));
}

// Columns from … of a (2,5), as an operation that gives parts.
Tensor columns(const Tensor& x, std::int64_t from, std::int64_t count) {
  static const Op op("test.columns");
  Tensor out = Tensor::empty({2, count}, DType::f64);
  for (std::int64_t r = 0; r < 2; ++r)
    for (std::int64_t c = 0; c < count; ++c)
      out.data<double>()[r * count + c] = x.data<double>()[r * 5 + from + c];
  record(op, out, {x}, from,
         [](std::int64_t from, const Tensor& g, Gradients& inputs) {
           inputs.add_part(0, {2, 5}, 1, from, g);
         });
  return out;
}

TEST(Tape, PartsOfATensorGatherInItsGradient) {
  Tensor x = Tensor::full({2, 5}, 1, DType::f64);
  x.set_requires_grad();
  const Tensor seed = Tensor::from<double>({2, 2}, {1, 2, 3, 4});
  backward_from(add(columns(x, 0, 2), columns(x, 1, 2)), seed);
  const V once{1, 3, 2, 0, 0, 3, 7, 4, 0, 0};
  EXPECT_EQ(grad(x), once);
  const Tensor held = x.grad();
  backward_from(columns(x, 3, 2), seed);
  EXPECT_EQ(grad(x), (V{1, 3, 2, 1, 2, 3, 7, 4, 3, 4}));
  EXPECT_EQ(held.to_vector<double>(), once) << "the user's own stays";

  // Of what has a history, whatever else it gives its gradient to.
  Tensor y = Tensor::full({2, 5}, 1, DType::f64);
  y.set_requires_grad();
  const Tensor twice = add(y, y);
  const Tensor all = Tensor::full({2, 5}, 10, DType::f64);
  const Tensor shared = add(twice, twice);
  backward_from(shared, all, true);
  EXPECT_EQ(grad(y), V(10, 40));
  backward_from(columns(twice, 0, 2), seed);
  EXPECT_EQ(grad(y), (V{42, 44, 40, 40, 40, 46, 48, 40, 40, 40}));
}

TEST(Tape, APartThatDoesNotFitIsCaught) {
  Tensor x = Tensor::full({2, 5}, 1, DType::f64);
  x.set_requires_grad();
  const auto given = [&](const Shape& whole, std::int64_t from) {
    Tensor y = Tensor::full({2, 2}, 1, DType::f64);
    record(kForget, y, {x}, Nothing{},
           [=](const Nothing&, const Tensor& g, Gradients& inputs) {
             inputs.add_part(0, whole, 1, from, g);
           });
    backward_from(y, y.detach());
  };
  EXPECT_THROW(given({2, 5}, 4), Error);
  EXPECT_THROW(given({2, 6}, 4), Error);
  EXPECT_THROW(given({3, 5}, 0), Error);
}

TEST(CustomOp, ReceivesItsGradient) {
  Tensor x = leaf({3});
  const Tensor y = custom_op("square", values({9}), {x}, [x](const Tensor& g) {
    return std::vector{values({2 * x.item() * g.item()})};
  });
  backward(mul(y, y));
  EXPECT_EQ(grad(x), V{2 * 9 * 6});
}

TEST(CustomOp, MayLeaveOutWhatNeedsNoGradient) {
  Tensor x = leaf({3}), c = values({2});
  const Tensor y = custom_op("scale", values({6}), {x, c}, [](const Tensor& g) {
    return std::vector{values({2 * g.item()}), Tensor()};
  });
  backward(y);
  EXPECT_EQ(grad(x), V{2});
  // Nothing is recorded when no input needs one.
  EXPECT_FALSE(custom_op("scale", values({6}), {c}, {}).requires_grad());
}

TEST(CustomOp, AWrongAnswerIsAnErrorThatNamesIt) {
  Tensor x = leaf({3, 4});
  auto attempt = [&](std::vector<Tensor> answer) {
    const Tensor y = custom_op("mine", values({1}), {x},
                               [&](const Tensor&) { return answer; });
    return message([&] { backward(y); });
  };
  EXPECT_TRUE(contains(attempt({}), "[mine]"));
  EXPECT_TRUE(contains(attempt({values({1, 2}), values({1})}), "2 gradients"));
  EXPECT_TRUE(contains(attempt({Tensor()}), "input 0"));
  EXPECT_TRUE(contains(attempt({values({1})}), "(1)"));
  EXPECT_TRUE(contains(attempt({Tensor::zeros({2})}), "f32"));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(attempt({values({1, 2})}), "nothing was thrown");
  EXPECT_EQ(grad(x), (V{1, 2}));
}

TEST(CustomOp, MayReturnABufferItUsesAgain) {
  Tensor x = leaf({1}), y = leaf({1});
  Tensor buffer = values({0});
  auto twice = [&](const Tensor& a) {
    return custom_op("twice", values({2 * a.item()}), {a},
                     [&](const Tensor& g) {
                       buffer.fill(2 * g.item());
                       return std::vector{buffer};
                     });
  };
  // Both gradients wait while the other is made.
  const Tensor a = twice(mul(x, x)), b = twice(mul(y, y));
  backward(add(a, mul(b, values({5}))));
  EXPECT_EQ(grad(x), V{4});
  EXPECT_EQ(grad(y), V{20});
}

TEST(CustomOp, MayDifferentiateAnewInItsBackward) {
  // Recomputation: forward without recording, again with it in the backward.
  Tensor x = leaf({2}), w = leaf({5});
  auto compute = [](const Tensor& x, const Tensor& w) {
    return mul(mul(x, x), w);
  };
  Tensor y;
  {
    NoGrad no_grad;
    y = compute(x, w);
  }
  y = custom_op("recompute", y, {x, w}, [&](const Tensor& g) {
    EXPECT_FALSE(grad_enabled());
    Tensor a = x.detach(), b = w.detach();
    a.set_requires_grad();
    b.set_requires_grad();
    EnableGrad enable;
    backward_from(compute(a, b), g);
    return std::vector{a.grad(), b.grad()};
  });
  backward(mul(y, x));  // x³w
  EXPECT_EQ(grad(x), V{3 * 4 * 5});
  EXPECT_EQ(grad(w), V{8});
}

TEST(Tape, OpsAreListedByName) {
  const auto names = registered_ops();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::count(names.begin(), names.end(), "test.mul"), 1);
}

}  // namespace
}  // namespace qkv
