#include "qkv/nn/module.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/check.h"
#include "core/tensor_impl.h"

namespace qkv::nn {
namespace {

thread_local TorchRng t_rng{0};
thread_local bool t_skip_init = false;

}  // namespace

TorchRng& default_rng() { return t_rng; }
void manual_seed(std::uint64_t seed) { t_rng = TorchRng(seed); }

SkipInit::SkipInit() : before_(t_skip_init) { t_skip_init = true; }
SkipInit::~SkipInit() { t_skip_init = before_; }
bool SkipInit::active() { return t_skip_init; }

std::vector<NamedTensor> Module::parameters() const {
  std::vector<NamedTensor> out;
  collect("", false, out);
  return out;
}

std::vector<NamedTensor> Module::state() const {
  std::vector<NamedTensor> out;
  collect("", true, out);
  return out;
}

void Module::collect(const std::string& prefix, bool buffers,
                     std::vector<NamedTensor>& out) const {
  for (const Entry& entry : entries_) {
    if (entry.module)
      entry.module->collect(prefix + entry.name + ".", buffers, out);
    else if (buffers || !entry.buffer)
      out.push_back({prefix + entry.name, entry.tensor, entry.table});
  }
}

std::int64_t Module::parameter_count() const {
  std::int64_t count = 0;
  std::set<std::pair<const void*, std::int64_t>> seen;
  for (const NamedTensor& p : parameters())
    if (seen.insert({p.tensor.impl()->storage.get(), p.tensor.impl()->offset})
            .second)
      count += p.tensor.numel();
  return count;
}

void Module::zero_grad() {
  for (NamedTensor& p : parameters()) p.tensor.zero_grad();
}

void Module::to(DType dtype) {
  if (dtype != DType::f32 && dtype != DType::f64)
    fail_input("a module computes in f32 or f64, not in {}", name_of(dtype));
  for (NamedTensor& p : state())
    if (is_floating(p.tensor.dtype()) && p.tensor.dtype() != dtype)
      p.tensor.convert_in_place(dtype);
}

void Module::load(const std::map<std::string, Tensor>& values) {
  std::vector<std::string> faults;
  auto note = [&](std::string fault) { faults.push_back(std::move(fault)); };
  const auto all = state();
  std::set<std::string> known;
  // Names by their memory: a tied parameter has several.
  std::map<std::pair<const void*, std::int64_t>, std::vector<std::string>> tied;
  const auto names_of = [&](const Tensor& t) -> std::vector<std::string>& {
    return tied[{t.impl()->storage.get(), t.impl()->offset}];
  };
  for (const NamedTensor& p : all) names_of(p.tensor).push_back(p.name);
  for (const NamedTensor& p : all) {
    known.insert(p.name);
    auto it = values.find(p.name);
    if (it == values.end()) {
      // A tied parameter may come under another of its names.
      const auto& names = names_of(p.tensor);
      if (std::none_of(names.begin(), names.end(),
                       [&](const auto& name) { return values.contains(name); }))
        note(fmt::format("'{}' {} is missing", p.name, p.tensor.shape().str()));
    } else if (it->second.shape() != p.tensor.shape()) {
      note(fmt::format("'{}' is {} instead of {}", p.name,
                       it->second.shape().str(), p.tensor.shape().str()));
    } else if (is_floating(it->second.dtype()) !=
               is_floating(p.tensor.dtype())) {
      note(fmt::format("'{}' holds {}, not {}", p.name,
                       name_of(it->second.dtype()),
                       is_floating(p.tensor.dtype()) ? "floating point numbers"
                                                     : "integers"));
    }
  }
  for (const auto& [name, tensor] : values)
    if (!known.contains(name))
      note(fmt::format("'{}' {} is not in the model", name,
                       tensor.shape().str()));
  for (const auto& [memory, names] : tied)
    for (std::size_t i = 1; i < names.size(); ++i) {
      auto a = values.find(names[0]), b = values.find(names[i]);
      if (a != values.end() && b != values.end() &&
          !a->second.same_storage(b->second) &&
          a->second.to(DType::f64).to_vector<double>() !=
              b->second.to(DType::f64).to_vector<double>())
        note(fmt::format("'{}' and '{}' are one tied parameter but differ",
                         names[0], names[i]));
    }
  if (!faults.empty()) {
    std::string text;
    const std::size_t shown = std::min<std::size_t>(faults.size(), 10);
    for (std::size_t i = 0; i < shown; ++i) text += (i ? "; " : "") + faults[i];
    if (faults.size() > shown)
      text += fmt::format("; and {} more", faults.size() - shown);
    fail_input("the weights do not fit the model: {}", text);
  }
  for (NamedTensor p : all)
    if (auto it = values.find(p.name); it != values.end())
      p.tensor.copy_from(it->second);
}

std::string Module::path() const {
  if (!parent_) return name_;
  const std::string above = parent_->path();
  return above.empty() ? name_ : above + "." + name_;
}

// stream_id(path()), without making the string: dropout asks at every step.
std::uint64_t Module::stream() const {
  if (!parent_) return stream_id(name_);
  const std::uint64_t above = parent_->stream();
  return stream_id(name_,
                   above == stream_id("") ? above : stream_id(".", above));
}

Tensor Module::add_parameter(const std::string& name, Tensor tensor,
                             bool table) {
  tensor.set_requires_grad();
  entries_.push_back({name, tensor, nullptr, table});
  return tensor;
}

Tensor Module::add_buffer(const std::string& name, Tensor tensor) {
  entries_.push_back({name, tensor, nullptr, false, true});
  return tensor;
}

void Module::tie_parameter(const std::string& name, const Tensor& tensor) {
  entries_.push_back({name, tensor, nullptr});
}

void Module::add_module(const std::string& name, Module& module) {
  module.name_ = name;
  module.parent_ = this;
  entries_.push_back({name, {}, &module});
}

}  // namespace qkv::nn
