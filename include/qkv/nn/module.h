// Module: named parameters and modules inside modules. A module's forward is
// calls of ops; it has no loops over elements of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "qkv/export.h"
#include "qkv/rng.h"
#include "qkv/tap.h"
#include "qkv/tensor.h"

namespace qkv::nn {

using qkv::NamedTensor;

// The generator of initial weights, and its seed (torch.manual_seed). One a
// thread; a new thread's starts at seed 0.
QKV_API TorchRng& default_rng();
QKV_API void manual_seed(std::uint64_t seed);

// While one lives on this thread, new modules leave their parameters unset: for
// a model whose weights are loaded next.
class QKV_API SkipInit {
 public:
  SkipInit();
  ~SkipInit();
  SkipInit(const SkipInit&) = delete;
  SkipInit& operator=(const SkipInit&) = delete;
  static bool active();

 private:
  bool before_;
};

class QKV_API Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;  // parents point at their parts
  Module& operator=(const Module&) = delete;

  // All parameters of this module and those inside, in construction order. A
  // tied parameter appears under each of its names.
  std::vector<NamedTensor> parameters() const;
  // The parameters and, where they stand in PyTorch's state_dict, the buffers:
  // what is kept but not trained (running means). A checkpoint holds these.
  std::vector<NamedTensor> state() const;
  // Numbers in the parameters, a tied one once.
  std::int64_t parameter_count() const;

  void zero_grad();
  // Converts every floating parameter and buffer to f32 or f64, in place;
  // gradients are dropped.
  void to(DType dtype);
  // Copies values in by name, converting the dtype. Every tensor of state()
  // must be there with its shape, and every given one must be of it: else one
  // error that lists up to ten differences. Tied names may be absent.
  void load(const std::map<std::string, Tensor>& values);

  // "transformer.h.0.attn"; empty for the outermost module.
  std::string path() const;
  // The random stream of this place, from its path.
  std::uint64_t stream() const;

 protected:
  // The tensor becomes a leaf that requires a gradient. table: NamedTensor's.
  Tensor add_parameter(const std::string& name, Tensor tensor,
                       bool table = false);
  // Kept and saved with the parameters, but not trained.
  Tensor add_buffer(const std::string& name, Tensor tensor);
  // Another name for a parameter that exists (a tied head).
  void tie_parameter(const std::string& name, const Tensor& tensor);
  void add_module(const std::string& name, Module& module);

 private:
  struct Entry {
    std::string name;
    Tensor tensor;             // or
    Module* module = nullptr;  // a part
    bool table = false, buffer = false;
  };
  void collect(const std::string& prefix, bool buffers,
               std::vector<NamedTensor>& out) const;

  std::vector<Entry> entries_;
  std::string name_;
  Module* parent_ = nullptr;
};

}  // namespace qkv::nn
