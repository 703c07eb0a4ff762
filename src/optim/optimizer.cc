// What the optimizers share: their parameters, moments and state.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/check.h"
#include "core/tensor_impl.h"
#include "optim/pieces.h"
#include "qkv/optim.h"

namespace qkv::optim {
namespace {

bool decays(const NamedTensor& p, DecayRule rule) {
  switch (rule) {
    case DecayRule::all:
      return true;
    case DecayRule::matrices:
      return p.tensor.rank() >= 2;
    case DecayRule::linear:
      return p.tensor.rank() >= 2 && !p.table;
  }
  fail_internal("decay rule {} is unknown", static_cast<int>(rule));
}

std::string describe(const Tensor& x) {
  return fmt::format("{} {}", name_of(x.dtype()), x.shape().str());
}

}  // namespace

std::vector<Parameter> parameters_of(const std::vector<NamedTensor>& parameters,
                                     DecayRule rule) {
  std::vector<NamedTensor> unique;
  for (const NamedTensor& p : parameters) {
    if (!p.tensor.requires_grad()) continue;
    const auto same = std::find_if(
        unique.begin(), unique.end(),
        [&](const auto& other) { return other.tensor.same_storage(p.tensor); });
    if (same == unique.end())
      unique.push_back(p);
    else if (same->tensor.impl() != p.tensor.impl())
      fail_input(
          "[optimizer] '{}' and '{}' share memory but not their gradient; use "
          "one Tensor for both",
          same->name, p.name);
    else
      same->table |= p.table;
  }
  std::vector<Parameter> result;
  result.reserve(unique.size());
  for (const NamedTensor& p : unique)
    result.push_back({p.name, p.tensor, decays(p, rule)});
  return result;
}

Optimizer::Optimizer(std::vector<Parameter> parameters,
                     std::vector<std::string> moments)
    : parameters_(std::move(parameters)), moment_names_(std::move(moments)) {
  for (const Parameter& p : parameters_) {
    if (!p.tensor.contiguous())
      fail_input("[optimizer] parameter '{}' is not contiguous", p.name);
    std::vector<Tensor>& own = moments_.emplace_back();
    for (std::size_t i = 0; i < moment_names_.size(); ++i)
      own.push_back(Tensor::zeros(p.tensor.shape(), p.tensor.dtype()));
  }
}

Optimizer::~Optimizer() = default;

void Optimizer::step(double lr, double grad_scale) {
  for (double x : {lr, grad_scale})
    if (!(x >= 0) || !std::isfinite(x))
      fail_input(
          "[optimizer] the learning rate {} and the gradients' scale {} must "
          "be finite and not negative",
          lr, grad_scale);
  if (std::none_of(parameters_.begin(), parameters_.end(),
                   [](const auto& p) { return p.tensor.grad().defined(); }))
    fail_input("[optimizer] no parameter has a gradient; call backward first");
  ++updates_;
  for_pieces(pieces_of(parameters_), [&](std::int64_t, const Piece& piece) {
    update_part({parameters_[piece.parameter], moments_[piece.parameter],
                 piece.begin, piece.end, lr, grad_scale, updates_});
  });
}

void Optimizer::zero_grad() {
  for (Parameter& p : parameters_) p.tensor.zero_grad();
}

std::vector<NamedTensor> Optimizer::state() const {
  std::vector<NamedTensor> state;
  for (std::size_t m = 0; m < moment_names_.size(); ++m)
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      state.push_back(
          {moment_names_[m] + "." + parameters_[i].name, moments_[i][m]});
  return state;
}

void Optimizer::set_state(const std::vector<NamedTensor>& state,
                          std::int64_t updates) {
  std::vector<std::string> faults;
  if (updates < 0) faults.push_back(fmt::format("{} updates", updates));
  std::map<std::string, Tensor> given;
  for (const NamedTensor& s : state)
    if (!given.emplace(s.name, s.tensor).second)
      faults.push_back(fmt::format("'{}' comes twice", s.name));
  const auto own = this->state();
  std::map<std::string, Tensor> unknown = given;
  for (const NamedTensor& mine : own) {
    unknown.erase(mine.name);
    const auto it = given.find(mine.name);
    if (it == given.end())
      faults.push_back(fmt::format("'{}' is missing", mine.name));
    else if (it->second.shape() != mine.tensor.shape() ||
             it->second.dtype() != mine.tensor.dtype())
      faults.push_back(fmt::format("'{}' is {} instead of {}", mine.name,
                                   describe(it->second),
                                   describe(mine.tensor)));
  }
  for (const auto& [name, tensor] : unknown)
    faults.push_back(fmt::format("'{}' is not of this optimizer", name));
  if (!faults.empty()) {
    const std::size_t shown = std::min<std::size_t>(faults.size(), 10);
    fail_input("the optimizer's state does not fit: {}{}",
               fmt::join(faults.begin(), faults.begin() + shown, "; "),
               faults.size() > shown
                   ? fmt::format("; and {} more", faults.size() - shown)
                   : "");
  }
  for (NamedTensor mine : own) mine.tensor.copy_from(given.at(mine.name));
  updates_ = updates;
}

}  // namespace qkv::optim
