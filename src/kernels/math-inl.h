// exp, ln, tanh, erf of f32 vectors. Coefficients: minimax fits of the
// functions named beside them. Errors, in units of the last place of the exact
// result, are the largest that tests/kernels/math_test.cc allows over all
// floats.
#if defined(QKV_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_KERNELS_MATH_INL_H_
#undef QKV_KERNELS_MATH_INL_H_
#else
#define QKV_KERNELS_MATH_INL_H_
#endif

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {

using I32 = hn::ScalableTag<std::int32_t>;
using VecI = hn::Vec<I32>;

// c[0] + c[1]·x + … by Horner's rule.
template <class... C>
HWY_INLINE Vec polynomial(Vec x, float c0, C... rest) {
  if constexpr (sizeof...(rest) == 0)
    return set(c0);
  else
    return hn::MulAdd(polynomial(x, rest...), x, set(c0));
}

// x = n·ln 2 + r, |r| <= ln 2 / 2. Adding 1.5·2²³ rounds n to an integer and
// leaves it in the low bits, so n is returned twice: as a number and in bits.
struct Reduced {
  Vec r;
  VecI n;
};
HWY_INLINE Reduced reduce_exponent(Vec x) {
  const Vec magic = set(0x1.8p23f);
  const Vec shifted = hn::MulAdd(x, set(0x1.715476p0f), magic);  // log2 e
  const Vec n = hn::Sub(shifted, magic);
  Vec r = hn::NegMulAdd(n, set(0x1.62e43p-1f), x);  // ln 2 in two parts
  r = hn::NegMulAdd(n, set(-0x1.05c61p-29f), r);
  const I32 di;
  return {r, hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, magic))};
}

// eʳ for |r| <= ln 2 / 2: 1 + r + r²·P(r), relative error 3e-9.
HWY_INLINE Vec exp_reduced(Vec r) {
  const Vec p = polynomial(r, 0.49999994f, 0.16666521f, 0.04166839f,
                           0.008368745f, 0.0013814538f);
  return hn::Add(set(1.0f), hn::MulAdd(hn::Mul(r, r), p, r));
}

// 2ⁿ for n in [-126, 127]; n = 128 gives infinity.
HWY_INLINE Vec power_of_two(VecI n) {
  const I32 di;
  return hn::BitCast(F32(), hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127))));
}

// eˣ; infinity from 88.73, subnormal results included. 1 ulp.
HWY_INLINE Vec exp(Vec x) {
  // Min and Max return the second operand when there is a NaN: it is kept.
  x = hn::Max(set(-104.0f), hn::Min(set(89.0f), x));
  const Reduced e = reduce_exponent(x);
  // In two factors, each a normal number: 2ⁿ itself may not be one.
  const VecI half = hn::ShiftRight<1>(e.n);
  const Vec y = hn::Mul(exp_reduced(e.r), power_of_two(half));
  return hn::Mul(y, power_of_two(hn::Sub(e.n, half)));
}

// eˣ for x <= 0, and 0 below -87.33 (no subnormal results: they are slow). 1
// ulp.
HWY_INLINE Vec exp_nonpositive(Vec x) {
  const Vec least = set(-87.33f);
  const Reduced e = reduce_exponent(hn::Max(least, x));
  const Vec y = hn::Mul(exp_reduced(e.r), power_of_two(e.n));
  return hn::IfThenZeroElse(hn::Lt(x, least), y);
}

inline constexpr float kLog2E = 1.44269504f;

// 2ˣ for x up to 126, 3.5 ulp; 0 from -99.5 down, so that no
// product with it becomes subnormal. Adding 1.5·2²³ rounds to the nearest whole
// n and leaves it in the low bits; the 100 in the same constant makes them the
// exponent of 2^(n-27), which for n = -100 is that of 0. 2^(x-n) times 2²⁷ by a
// polynomial of degree 5 with value 2²⁷ at 0, its largest relative error least
// (Lawson's iteration). NaN stays NaN: Max returns its second operand then, and
// the polynomial carries it.
HWY_INLINE Vec exp2(Vec x) {
  const Vec magic = set(0x1.8p23f + 100.0f);
  x = hn::Max(set(-100.0f), x);
  const Vec shifted = hn::Add(x, magic);
  const Vec f = hn::Sub(x, hn::Sub(shifted, magic));
  const Vec p = polynomial(f, 0x1p+27f, 0x1.62e42ap+26f, 0x1.ebf9bcp+24f,
                           0x1.c6b752p+22f, 0x1.3cea88p+20f, 0x1.5bba14p+17f);
  const Vec power =
      hn::BitCast(F32(), hn::ShiftLeft<23>(hn::BitCast(I32(), shifted)));
  return hn::Mul(p, power);
}

// ln x; -infinity at 0, NaN below. 1 ulp.
HWY_INLINE Vec log(Vec x) {
  const I32 di;
  // Subnormal numbers are brought into the normal range first.
  const auto tiny = hn::Lt(x, set(0x1p-126f));
  const Vec scaled = hn::IfThenElse(tiny, hn::Mul(x, set(0x1p24f)), x);
  // x = 2ᵉ·m with m in [√½, √2): adding the distance from √½ to 1 makes the
  // exponent field that of e.
  const VecI bits = hn::Sub(hn::BitCast(di, scaled), hn::Set(di, 0x3f3504f3));
  const VecI exponent = hn::ShiftRight<23>(bits);
  const Vec m = hn::BitCast(
      F32(), hn::Sub(hn::BitCast(di, scaled), hn::ShiftLeft<23>(exponent)));
  const Vec e = hn::Sub(hn::ConvertTo(F32(), exponent),
                        hn::IfThenElseZero(tiny, set(24.0f)));
  // With f = m - 1 and s = f/(2+f): ln m = f - f²/2 + s·(f²/2 + z·P(z)), z =
  // s².
  const Vec f = hn::Sub(m, set(1.0f));
  const Vec s = hn::Div(f, hn::Add(f, set(2.0f)));
  const Vec z = hn::Mul(s, s);
  const Vec tail = hn::Mul(
      z, polynomial(z, 0.6666666f, 0.40000436f, 0.28531986f, 0.23670304f));
  const Vec half_square = hn::Mul(hn::Mul(f, f), set(0.5f));
  // ln 2 in two parts, the first with so few bits that e·ln2 is exact.
  Vec y = hn::MulAdd(s, hn::Add(half_square, tail),
                     hn::Mul(e, set(-2.12194440e-4f)));
  y = hn::Sub(f, hn::Sub(half_square, y));
  y = hn::MulAdd(e, set(0.693359375f), y);
  const Vec infinity = hn::Inf(F32());
  y = hn::IfThenElse(hn::Lt(x, infinity), y, x);  // infinity and NaN
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(F32())), hn::Neg(infinity), y);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), hn::NaN(F32()), y);
}

// a / d for d in [1, 2^64], rounded as a division but for a few last places:
// Newton's step on the processor's estimate of 1/d (14 bits, 12 with AVX2),
// then what is left of a. Dividing takes three times as long.
HWY_INLINE Vec quotient(Vec a, Vec d) {
  Vec r = hn::ApproximateReciprocal(d);
  r = hn::MulAdd(r, hn::NegMulAdd(d, r, set(1.0f)), r);
  if (kLanes == 8) r = hn::MulAdd(r, hn::NegMulAdd(d, r, set(1.0f)), r);
  const Vec q = hn::Mul(a, r);
  return hn::MulAdd(hn::NegMulAdd(q, d, a), r, q);
}

// 1 / (1 + e⁻ˣ). 2.5 ulp; 0 below -87.33.
HWY_INLINE Vec sigmoid(Vec x) {
  const Vec e = exp_nonpositive(hn::Neg(hn::Abs(x)));
  const Vec above = hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), e, set(1.0f));
  return quotient(above, hn::Add(set(1.0f), e));
}

// tanh x. 2 ulp.
HWY_INLINE Vec tanh(Vec x) {
  const Vec a = hn::Abs(x);
  // |x| < 0.625: x + x³·P(x²).
  const Vec z = hn::Mul(x, x);
  const Vec p = polynomial(z, -0.3333328f, 0.13331442f, -0.05373971f,
                           0.020639079f, -0.0057049785f);
  const Vec small = hn::MulAdd(hn::Mul(x, z), p, x);
  // Else (1 - e)/(1 + e), e = e^(-2|x|).
  const Vec e = exp_nonpositive(hn::Mul(a, set(-2.0f)));
  const Vec large = quotient(hn::Sub(set(1.0f), e), hn::Add(set(1.0f), e));
  return hn::IfThenElse(hn::Lt(a, set(0.625f)), small,
                        hn::CopySignToAbs(large, x));
}

// erf x. 1 ulp.
HWY_INLINE Vec erf(Vec x) {
  const Vec a = hn::Abs(x);
  // |x| < 1: x + x·P(x²).
  const Vec z = hn::Mul(x, x);
  const Vec p =
      polynomial(z, 0.12837917f, -0.37612626f, 0.112835854f, -0.026853811f,
                 0.0051883277f, -0.00080101925f, 7.853858e-05f);
  const Vec small = hn::MulAdd(x, p, x);
  // Else 1 - e^Q(|x|), Q a fit of ln erfc; from 4 on that rounds to 1.
  const Vec t = hn::Min(set(4.0f), a);
  const Vec q =
      polynomial(t, -0.00034151258f, -1.1270893f, -0.63814473f, -0.10310682f,
                 0.021838097f, -0.0029476667f, 0.00018638009f);
  const Vec large = hn::Sub(set(1.0f), exp_nonpositive(q));
  return hn::IfThenElse(hn::Lt(a, set(1.0f)), small,
                        hn::CopySignToAbs(large, x));
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the guard of each instruction set
