// qkv layer: one attention module from a PyTorch state dict, run with
// gradients.
#include <fmt/core.h>

#include <CLI/App.hpp>
#include <charconv>
#include <map>
#include <memory>

#include "cli/command.h"
#include "cli/run_options.h"
#include "core/check.h"
#include "core/json.h"
#include "qkv/autograd.h"
#include "qkv/io.h"
#include "qkv/nn/attention.h"
#include "qkv/nn/block.h"

namespace qkv::cli {
namespace {

struct Options {
  std::string weights, input, output, mask = "none", dtype = "f32";
  std::int64_t heads = 0;  // 0: not given
  int threads = 0;
  bool json = false;
};

using State = std::map<std::string, Tensor>;

State read_all(const std::string& path) {
  const io::SafetensorsFile file(path);
  State state;
  for (const io::TensorEntry& entry : file.entries())
    state[entry.name] = file.read(entry.name);
  return state;
}

// A module, and how it is called.
struct Layer {
  const char* kind;
  std::unique_ptr<nn::Module> module;
  std::function<AttentionResult(const Tensor& x, const Tensor& memory,
                                const AttentionOptions& options)>
      forward;
  bool takes_memory = false;
};

template <class M, class... Sizes>
Layer on_one_sequence(const char* kind, Sizes... sizes) {
  auto module = std::make_unique<M>(sizes...);
  M* m = module.get();
  return {kind, std::move(module),
          [m](const Tensor& x, const Tensor&, const AttentionOptions& options) {
            return m->forward(x, options);
          }};
}

Layer on_two_sequences(std::int64_t width, std::int64_t heads,
                       std::int64_t memory_width) {
  auto module =
      std::make_unique<nn::CrossAttention>(width, heads, memory_width);
  nn::CrossAttention* m = module.get();
  return {"CrossAttention", std::move(module),
          [m](const Tensor& x, const Tensor& memory,
              const AttentionOptions& options) {
            return m->forward(x, memory, options);
          },
          true};
}

// Axis `axis` of a matrix that tells a size of the module.
std::int64_t size_of(const State& state, const char* name, int axis) {
  const auto it = state.find(name);
  if (it == state.end()) fail_input("'{}' is missing", name);
  if (it->second.rank() != 2)
    fail_input("'{}' must be a matrix, not {}", name, it->second.shape().str());
  return it->second.dim(axis);
}

std::int64_t needed_heads(const char* kind, std::int64_t heads) {
  if (heads == 0) fail_input("a {} needs --heads", kind);
  return heads;
}

// The names of the parameters tell which module it is, their shapes its sizes.
Layer make_layer(const State& state, std::int64_t heads) {
  const nn::SkipInit unset;  // the weights are loaded next
  const auto has = [&](const char* name) { return state.contains(name); };
  if (has("ln1.weight"))
    return on_one_sequence<nn::TinyGPTBlock>(
        "TinyGPTBlock", size_of(state, "attn.qkv.weight", 1),
        needed_heads("TinyGPTBlock", heads), size_of(state, "ff.0.weight", 0));
  if (has("qkv.weight"))
    return on_one_sequence<nn::MultiHeadSelfAttention>(
        "MultiHeadSelfAttention", size_of(state, "qkv.weight", 1),
        needed_heads("MultiHeadSelfAttention", heads));
  if (has("kv.weight"))
    return on_two_sequences(size_of(state, "query.weight", 1),
                            needed_heads("CrossAttention", heads),
                            size_of(state, "kv.weight", 1));
  if (has("query.weight") && has("key.weight")) {
    if (heads > 1)
      fail_input("a SelfAttention has one head, --heads says {}", heads);
    return on_one_sequence<nn::SelfAttention>(
        "SelfAttention", size_of(state, "query.weight", 1));
  }
  fail_input(
      "no attention module that is known: {}; the names are query, key and "
      "value (SelfAttention), qkv and out_proj (MultiHeadSelfAttention), "
      "query, kv and out_proj (CrossAttention), or ln1, attn, ln2 and ff "
      "(TinyGPTBlock)",
      state.empty() ? "it is empty"
                    : fmt::format("it holds '{}'", state.begin()->first));
}

Layer read_layer(const Options& options, DType dtype) {
  const State state = read_all(options.weights);
  try {
    Layer layer = make_layer(state, options.heads);
    layer.module->to(dtype);
    layer.module->load(state);
    return layer;
  } catch (const Error& error) {
    fail_input("{}: {}", options.weights, error.what());
  }
}

struct Inputs {
  Tensor x, memory, grad_out;  // the last two may be undefined
};

Inputs read_inputs(const std::string& path, const Layer& layer, DType dtype) {
  Inputs inputs;
  for (const auto& [name, tensor] : read_all(path)) {
    Tensor* place = name == "x"          ? &inputs.x
                    : name == "memory"   ? &inputs.memory
                    : name == "grad_out" ? &inputs.grad_out
                                         : nullptr;
    if (!place)
      fail_input("{}: '{}' is none of x, memory and grad_out", path, name);
    if (!is_floating(tensor.dtype()))
      fail_input("{}: '{}' holds {}, not floating point numbers", path, name,
                 name_of(tensor.dtype()));
    *place = tensor.to(dtype);
  }
  if (!inputs.x) fail_input("{}: 'x' is missing", path);
  if (layer.takes_memory && !inputs.memory)
    fail_input("{}: 'memory' is missing: a {} looks at a second sequence", path,
               layer.kind);
  if (!layer.takes_memory && inputs.memory)
    fail_input("{}: 'memory' is of no use to a {}", path, layer.kind);
  return inputs;
}

Mask mask_of(const std::string& text) {
  if (text == "none") return Mask::none();
  if (text == "causal") return Mask::causal();
  constexpr std::string_view kWindow = "window:";
  if (text.starts_with(kWindow)) {
    std::int64_t n = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + kWindow.size(), end, n);
    if (read.ec == std::errc() && read.ptr == end && n >= 1)
      return Mask::window(n);
  }
  fail_input(
      "--mask must be none, causal or window:N with N at least 1, not '{}'",
      text);
}

int run(const Options& options) {
  use_threads(options.threads);
  const Mask mask = mask_of(options.mask);
  const DType dtype = options.dtype == "f64" ? DType::f64 : DType::f32;
  const Layer layer = read_layer(options, dtype);
  Inputs inputs = read_inputs(options.input, layer, dtype);
  inputs.x.set_requires_grad();
  if (inputs.memory) inputs.memory.set_requires_grad();

  io::NamedTensors results;
  try {
    const AttentionResult result =
        layer.forward(inputs.x, inputs.memory,
                      {.mask = mask, .want_weights = WantWeights::all()});
    results = {{"out", result.output.detach()},
               {"weights", result.weights.detach()}};
    if (inputs.grad_out) {
      if (inputs.grad_out.shape() != result.output.shape())
        fail_input("'grad_out' {} has not the shape of the output, {}",
                   inputs.grad_out.shape().str(), result.output.shape().str());
      backward_from(result.output, inputs.grad_out);
      results.emplace_back("grad.x", inputs.x.grad());
      if (inputs.memory)
        results.emplace_back("grad.memory", inputs.memory.grad());
      for (const nn::NamedTensor& p : layer.module->parameters())
        results.emplace_back("grad." + p.name, p.tensor.grad());
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    fail_input("{}: {}", options.input, error.what());
  }
  io::write_safetensors(options.output, results);
  if (options.json) {
    nlohmann::ordered_json out = {{"module", layer.kind},
                                  {"mask", options.mask},
                                  {"dtype", name_of(dtype)},
                                  {"file", options.output}};
    for (const auto& [name, tensor] : results)
      out["shapes"][name] = std::vector<std::int64_t>(tensor.shape().begin(),
                                                      tensor.shape().end());
    fmt::print("{}\n", json_line(out));
    return kDone;
  }
  fmt::print("{}, mask {}, {}:\n", layer.kind, options.mask, name_of(dtype));
  for (const auto& [name, tensor] : results)
    fmt::print("  {:<28} {}\n", name, tensor.shape().str());
  fmt::print("written to {}\n", options.output);
  return kDone;
}

const RegisterCommand kLayer({
    .name = "layer",
    .purpose = Purpose::look,
    .help =
        "Run one attention module kept as a PyTorch state dict, with gradients",
    .examples =
        {{"Causal attention of 8 heads, in double precision",
          "qkv layer --weights W.safetensors --input X.safetensors --heads 8 "
          "--mask causal --dtype f64 --output Y.safetensors"}},
    .setup =
        [](CLI::App& app) {
          auto options = std::make_shared<Options>();
          app.add_option("--weights", options->weights,
                         "The state dict; its names tell the kind "
                         "of module")
              ->type_name("FILE.safetensors")
              ->required();
          app.add_option(
                 "--input", options->input,
                 "Holds x (B,T,D), for cross attention memory "
                 "(B,S,D_kv), and, where gradients are wanted, grad_out")
              ->type_name("FILE.safetensors")
              ->required();
          app.add_option("--heads", options->heads,
                         "Heads; not needed for SelfAttention")
              ->check(whole_number(1, std::int64_t{1} << 40))
              ->type_name("H")
              ->default_str("");
          app.add_option("--mask", options->mask,
                         "Keys that a query sees: all, none after it, or of "
                         "these the N "
                         "nearest; aligned at the last query and key")
              ->type_name("none|causal|window:N");
          choose(app.add_option("--dtype", options->dtype,
                                "Compute and write in it"),
                 {"f32", "f64"});
          app.add_option("--output", options->output,
                         "Gets out, weights, and the gradients grad.x, "
                         "grad.memory, grad.PARAMETER")
              ->type_name("FILE.safetensors")
              ->required();
          app.add_flag("--json", options->json,
                       "What was computed as one JSON object");
          add_threads(app, options->threads);
          return [options] { return run(*options); };
        },
});

}  // namespace
}  // namespace qkv::cli
