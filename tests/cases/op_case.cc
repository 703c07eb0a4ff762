#include "tests/cases/op_case.h"

#include <limits>

#include "core/tensor_impl.h"

namespace qkv::test {
namespace {

std::vector<OpCase>& all() {
  static auto* cases = new std::vector<OpCase>;
  return *cases;
}

std::vector<OpCase>& benchmarks() {
  static auto* cases = new std::vector<OpCase>;
  return *cases;
}

}  // namespace

const std::vector<OpCase>& op_cases() { return all(); }

AddCases::AddCases(std::vector<OpCase> cases) {
  for (OpCase& c : cases) all().push_back(std::move(c));
}

const std::vector<OpCase>& benchmark_cases() { return benchmarks(); }

AddBenchmarks::AddBenchmarks(std::vector<OpCase> cases) {
  for (OpCase& c : cases) benchmarks().push_back(std::move(c));
}

OpCase moving(OpCase c, double forward, double both) {
  c.flops = 0;
  c.bytes = 4 * forward;
  c.with_backward = both / forward;
  c.differentiable = both > 0;
  return c;
}

OpCase of_one_input(const char* op, const std::string& label,
                    const Shape& shape,
                    const std::function<Tensor(const Tensor&)>& f) {
  return {.op = op,
          .label = label,
          .inputs =
              [=](DType dtype, TorchRng& rng) {
                return std::vector<Tensor>{normal(shape, dtype, rng)};
              },
          .run = [f](const auto& in) { return f(in[0]); }};
}

Tensor normal(const Shape& shape, DType dtype, TorchRng& rng) {
  // Always drawn in f64: the f32 inputs are the same numbers, rounded.
  Tensor x = Tensor::empty(shape, DType::f64);
  rng.randn(x);
  return x.to(DType::f32).to(dtype);
}

Tensor random_ids(const Shape& shape, std::int64_t limit, TorchRng& rng) {
  Tensor ids = Tensor::empty(shape, DType::i64);
  for (std::int64_t i = 0; i < ids.numel(); ++i)
    ids.data<std::int64_t>()[i] = rng.randint(limit);
  return ids;
}

Tensor with_gaps(const Tensor& x) {
  if (x.rank() == 0) return x;
  std::array<std::int64_t, kMaxRank> sizes{};
  for (int i = 0; i < x.rank(); ++i) sizes[i] = x.dim(i) + 1;
  sizes[x.rank() - 1] = 2 * x.dim(-1) + 1;
  const Shape wide(std::span<const std::int64_t>(sizes.data(), x.rank()));
  Tensor backing = Tensor::empty(wide, x.dtype());
  if (is_floating(x.dtype()))
    backing.fill(std::numeric_limits<double>::quiet_NaN());
  else
    backing.fill(1 << 20);
  Strides strides = row_major(wide);
  strides[x.rank() - 1] = 2;
  Tensor view = view_of(backing, x.shape(), strides, 1);
  view.copy_from(x);
  return view;
}

}  // namespace qkv::test
