// op(B) is copied in panels a few vectors wide, which stay in the nearest cache
// while all rows of op(A) pass over them; sums are kept in registers, tile by
// tile (Goto & van de Geijn, Anatomy of High-Performance Matrix Multiplication,
// 2008). A is read where it lies: a tile uses few of its lines, and copying
// them first costs more than it saves.
#include "kernels/gemm/block_product.h"

#include <algorithm>

#include "core/divide.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/block_product.cc"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include <hwy/cache_control.h>
//
#include "kernels/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv::kernels::HWY_NAMESPACE {
namespace {

using std::int64_t;

// Vectors across a panel, and rows of a tile: 4×4 vectors of sums fill the 32
// registers of AVX-512, 6×2 the 16 of AVX2.
constexpr bool kManyRegisters = kLanes == 16;
constexpr int kPanelVectors = kManyRegisters ? 4 : 2;
// Rows of a panel: 32 KiB of the nearest cache with AVX-512, 16 with AVX2. Half
// of that where A is stored transposed with rows far apart: they fall into few
// places of the cache.
constexpr int64_t kPanelDepth = kManyRegisters ? 128 : 256;
constexpr int64_t kFarApart = 1024;
constexpr int64_t kCacheLine = 16;  // in floats
// Elements of A, of C, from which on they are taken to lie beyond a core's own
// caches.
constexpr int64_t kFar = 1 << 18;

// The part of op(B) that is being worked on, (depth, vectors · kLanes), with
// zeros beyond `cols`.
struct Panel {
  const float* data;
  int64_t depth;
  int64_t cols;
  int vectors;
  bool asks_for_a;  // the first to pass over rows of A that are far away
  bool asks_for_c;  // the first to write its columns of C
};

// panel(k,j) = alpha · b(k,j).
void copy_panel(const float* b, int64_t ldb, float alpha, const Panel& p,
                float* panel) {
  const Vec factor = set(alpha);
  const Part last = first_lanes(p.cols - (p.vectors - 1) * kLanes);
  for (int64_t k = 0; k < p.depth; ++k, b += ldb) {
    const float* from = b;
    for (int v = 1; v < p.vectors; ++v, from += kLanes, panel += kLanes)
      hn::Store(hn::Mul(hn::LoadU(F32(), from), factor), F32(), panel);
    hn::Store(hn::Mul(load(from, last), factor), F32(), panel);
    panel += kLanes;
  }
}

// panel(k,j) = alpha · b(j,k).
void transpose_panel(const float* b, int64_t ldb, float alpha, const Panel& p,
                     float* panel) {
  const Vec factor = set(alpha);
  const int64_t stride = p.vectors * kLanes;
  for (int64_t j = 0; j < stride; j += kLanes, b += kLanes * ldb) {
    float* to = panel + j;
    const int64_t left = std::clamp<int64_t>(p.cols - j, 0, kLanes);
    int64_t k = 0;
    if (left == kLanes)
      for (; k + 4 <= p.depth; k += 4) {
        Vec v[4];
        HWY_UNROLL(4)
        for (int r = 0; r < 4; ++r)
          v[r] = load_blocks(F32(), {b + r * ldb + k, ldb});
        transpose_blocks(v);
        HWY_UNROLL(4)
        for (int r = 0; r < 4; ++r)
          hn::Store(hn::Mul(v[r], factor), F32(), to + (k + r) * stride);
      }
    for (; k < p.depth; ++k)
      for (int64_t i = 0; i < kLanes; ++i)
        to[k * stride + i] = i < left ? alpha * b[i * ldb + k] : 0.0f;
  }
}

// What a tile's sums start from: beta·C + bias.
struct TileStart {
  float beta;
  const float* bias;
};

template <bool kAcross, int kM, int kN>
HWY_INLINE void tile(Rows a, const Panel& p, TileStart start, MutableRows c) {
  const auto last =
      hn::FirstN(F32(), static_cast<std::size_t>(p.cols - (kN - 1) * kLanes));
  const auto read = [&](const float* from, int n) QKV_INLINE_LAMBDA {
    return n + 1 < kN ? hn::LoadU(F32(), from + n * kLanes)
                      : hn::MaskedLoad(last, F32(), from + n * kLanes);
  };
  Vec sum[kM][kN];
  HWY_UNROLL(8)
  for (int n = 0; n < kN; ++n) {
    const Vec from = start.bias ? read(start.bias, n) : hn::Zero(F32());
    HWY_UNROLL(8)
    for (int m = 0; m < kM; ++m) {
      sum[m][n] = from;
      if (start.beta != 0)
        sum[m][n] =
            hn::MulAdd(set(start.beta), read(c.data + m * c.stride, n), from);
    }
  }
  add_products<kAcross, kM, kN>(a, {p.data, kN * kLanes}, p.depth, sum);
  HWY_UNROLL(8)
  for (int m = 0; m < kM; ++m) {
    float* to = c.data + m * c.stride;
    HWY_UNROLL(8)
    for (int n = 0; n + 1 < kN; ++n)
      hn::StoreU(sum[m][n], F32(), to + n * kLanes);
    hn::BlendedStore(sum[m][kN - 1], last, F32(), to + (kN - 1) * kLanes);
  }
}

// Asks for what the tiles after this one will touch: the next rows of A; of a
// transposed A a cache line of each row, for the next strip of tiles; the next
// rows of C, or storing would wait for them. Too short stretches for the
// processor to see them coming. Not inlined: tile needs every register.
template <bool kAcross, int kM, int kN>
HWY_NOINLINE void ask_ahead(Rows a, const Panel& p, MutableRows c) {
  asm volatile("");  // else the compiler finds no effect and drops the call
  if (p.asks_for_c)
    for (int64_t m = kM; m < 2 * kM; ++m)
      for (int64_t n = 0; n < kN; ++n)
        hwy::Prefetch(c.data + m * c.stride + n * kLanes);
  if (!p.asks_for_a) return;
  if (!kAcross) {
    for (int64_t m = kM; m < 2 * kM; ++m)
      for (int64_t k = 0; k < p.depth; k += kCacheLine)
        hwy::Prefetch(a.data + m * a.stride + k);
  } else if (reinterpret_cast<std::uintptr_t>(a.data) % 64 <
             kM * sizeof(float)) {
    for (int64_t k = 0; k < p.depth; ++k)
      hwy::Prefetch(a.data + k * a.stride + kCacheLine);
  }
}

// Rows of C, kM at a time and then what is left.
template <bool kAcross, int kM, int kN>
void tiles(Rows a, int64_t rows, const Panel& p, TileStart start,
           MutableRows c) {
  const bool asks = p.asks_for_a || p.asks_for_c;
  for (; rows >= kM; rows -= kM) {
    if (asks) ask_ahead<kAcross, kM, kN>(a, p, c);
    tile<kAcross, kM, kN>(a, p, start, c);
    a.data += kM * (kAcross ? 1 : a.stride);
    c.data += kM * c.stride;
  }
  if constexpr (kM > 1)
    if (rows > 0) tiles<kAcross, kM / 2, kN>(a, rows, p, start, c);
}

// Narrow panels take taller tiles: eight sums at least are on the way then.
template <bool kAcross>
void tiles(Rows a, int64_t rows, const Panel& p, TileStart start,
           MutableRows c) {
  const auto run = [&]<int kM, int kN>() {
    tiles<kAcross, kM, kN>(a, rows, p, start, c);
  };
  if constexpr (kManyRegisters) {
    if (p.vectors == 4) return run.template operator()<4, 4>();
    if (p.vectors == 3) return run.template operator()<8, 3>();
  }
  p.vectors == 2 ? run.template operator()<kManyRegisters ? 8 : 6, 2>()
                 : run.template operator()<8, 1>();
}

}  // namespace

void multiply_block(const BlockProduct& g) {
  HWY_ALIGN float panel[kPanelDepth * kPanelVectors * kLanes];
  const bool a_far = (g.trans_a ? g.depth : g.rows) * g.lda > kFar;
  const bool c_far = g.rows * g.ldc > kFar;
  const bool shallow = g.trans_a && g.lda >= kFarApart;
  const int64_t depths =
      ceil_div(g.depth, shallow ? kPanelDepth / 2 : kPanelDepth);
  const int64_t vectors = ceil_div(g.cols, kLanes);
  const int64_t panels = ceil_div(vectors, kPanelVectors);
  // What is passed over again and again should stay in the second cache: a
  // panel's columns of C and all of A, or all of C and a stretch of A.
  const bool by_panel = g.depth <= g.cols;
  for (int64_t i = 0; i < panels * depths; ++i) {
    const int64_t n = by_panel ? i / depths : i % panels;
    const int64_t d = by_panel ? i % depths : i / panels;
    const int64_t k = g.depth * d / depths;
    const int64_t begin = vectors * n / panels * kLanes;
    const int64_t end = std::min(vectors * (n + 1) / panels * kLanes, g.cols);
    const Panel p{
        panel,           g.depth * (d + 1) / depths - k,
        end - begin,     static_cast<int>(ceil_div(end - begin, kLanes)),
        n == 0 && a_far, d == 0 && c_far};
    if (g.trans_b)
      transpose_panel(g.b + begin * g.ldb + k, g.ldb, g.alpha, p, panel);
    else
      copy_panel(g.b + k * g.ldb + begin, g.ldb, g.alpha, p, panel);
    TileStart start{1, nullptr};
    if (d == 0) start = {g.beta, g.bias ? g.bias + begin : nullptr};
    const MutableRows c{g.c + begin, g.ldc};
    if (g.trans_a)
      tiles<true>({g.a + k * g.lda, g.lda}, g.rows, p, start, c);
    else
      tiles<false>({g.a + k, g.lda}, g.rows, p, start, c);
  }
}

}  // namespace qkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qkv::kernels {

HWY_EXPORT(multiply_block);

void multiply_block(const BlockProduct& p) {
  HWY_DYNAMIC_DISPATCH(multiply_block)(p);
}

}  // namespace qkv::kernels
#endif  // HWY_ONCE
