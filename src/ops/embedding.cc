// Rows of a table by their ids.
#include "kernels/embedding/embedding.h"

#include "ops/common.h"

namespace qkv {
namespace {

const Op kEmbedding("embedding");

struct Saved {
  Shape table;
  Tensor ids;
};

template <class T>
void embedding_backward(const Saved& saved, const Tensor& dy,
                        Gradients& inputs) {
  Tensor dtable = Tensor::zeros(saved.table, dy.dtype());
  kernels::embedding_backward<T>(dy.data<T>(), saved.table[1],
                                 saved.ids.data<std::int64_t>(),
                                 saved.ids.numel(), dtable.data<T>());
  inputs.add(0, std::move(dtable));
}

}  // namespace

Tensor embedding(const Tensor& table, const Tensor& ids) {
  check_compute_type("embedding", table);
  if (table.rank() != 2)
    fail_input("[embedding] the table is (V,D), not {}", table.shape().str());
  if (!ids || ids.dtype() != DType::i64) fail_input("[embedding] ids are i64");
  const Tensor at = packed(ids), rows = packed(table);
  const auto* id = at.data<std::int64_t>();
  const std::int64_t bad =
      kernels::first_out_of_range(id, at.numel(), table.dim(0));
  if (bad >= 0)
    fail_input("[embedding] id {} at position {} is outside 0..{}", id[bad],
               bad, table.dim(0) - 1);
  Tensor out =
      Tensor::empty(ids.shape().inserted(-1, table.dim(1)), table.dtype());
  with_compute_type(table.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::embedding<T>(rows.data<T>(), table.dim(1), id, at.numel(),
                          out.data<T>());
    record(kEmbedding, out, {table}, Saved{table.shape(), at},
           embedding_backward<T>);
  });
  return out;
}

}  // namespace qkv
