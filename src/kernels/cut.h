// How kernels that treat each row (or element) by itself are cut for threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/parallel.h"

namespace qkv::kernels {

// Cost is counted in elements of a plain loop (a copy, an addition): about
// 0.1 ns in cache. A parallel region costs 0.6 to 2 µs, so less than
// kSerialCost stays on the calling thread.
inline constexpr std::int64_t kSerialCost = 32768;
inline constexpr std::int64_t kBlockCost = 8192;

// Rows that a sum over rows adds together at least: the sums of such chunks are
// then added in order.
inline constexpr std::int64_t kRowChunk = 32;

// body(begin, end) over [0, rows), each row worth row_cost.
inline void for_rows(std::int64_t rows, std::int64_t row_cost,
                     FunctionRef<void(std::int64_t, std::int64_t)> body) {
  row_cost = std::max<std::int64_t>(row_cost, 1);
  if (rows <= 0) return;
  if (rows <= kSerialCost / row_cost) return body(0, rows);
  parallel_ranges(rows, std::max<std::int64_t>(kBlockCost / row_cost, 1), body);
}

// The same over elements, in blocks that begin at multiples of 1024 (so a
// block never shares a cache line or a group of random numbers with another).
inline void for_elements(std::int64_t n, std::int64_t cost,
                         FunctionRef<void(std::int64_t, std::int64_t)> body) {
  if (n <= 0) return;
  if (n <= kSerialCost / cost) return body(0, n);
  const std::int64_t grain =
      std::max<std::int64_t>(kBlockCost / cost, 1024) / 1024 * 1024;
  parallel_ranges(n, grain, body);
}

}  // namespace qkv::kernels
