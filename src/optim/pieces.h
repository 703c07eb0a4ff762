// All parameters in one loop: their numbers in pieces, a parallel region for
// all of them together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/divide.h"
#include "core/parallel.h"
#include "core/pool.h"
#include "qkv/optim.h"

namespace qkv::optim {

// Numbers begin … end - 1 of a parameter.
struct Piece {
  std::size_t parameter;
  std::int64_t begin, end;
};
using Pieces = std::vector<Piece, PoolAllocator<Piece>>;

// Of those that have a gradient, parameter by parameter, in order.
inline Pieces pieces_of(const std::vector<Parameter>& parameters) {
  constexpr std::int64_t kPiece = 16384;
  const auto has_gradient = [&](std::size_t i) {
    return parameters[i].tensor.grad().defined();
  };
  std::size_t count = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (has_gradient(i))
      count += static_cast<std::size_t>(
          ceil_div(parameters[i].tensor.numel(), kPiece));
  Pieces pieces;
  pieces.reserve(count);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!has_gradient(i)) continue;
    const std::int64_t n = parameters[i].tensor.numel();
    for (std::int64_t begin = 0; begin < n; begin += kPiece)
      pieces.push_back({i, begin, std::min(begin + kPiece, n)});
  }
  return pieces;
}

// f(index in pieces, piece), by one thread where there is little to do.
template <class F>
void for_pieces(const Pieces& pieces, F f) {
  constexpr std::int64_t kLittle = 4096;
  std::int64_t numbers = 0;
  for (const Piece& piece : pieces) numbers += piece.end - piece.begin;
  const auto count = static_cast<std::int64_t>(pieces.size());
  const auto body = [&](std::int64_t i) {
    f(i, pieces[static_cast<std::size_t>(i)]);
  };
  if (numbers > kLittle) return parallel_for(count, body);
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace qkv::optim
