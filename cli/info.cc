// qkv info: what a run, a file or this machine holds.
#include <fmt/core.h>

#include <CLI/App.hpp>
#include <cmath>
#include <filesystem>

#include "bundle/checkpoint.h"
#include "cli/command.h"
#include "cli/kernel_choice.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "core/check.h"
#include "core/fields_json.h"
#include "core/json.h"
#include "qkv/io.h"
#include "qkv/runtime.h"

namespace qkv::cli {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::string path;
  bool json = false, tensors = false;
};

ordered_json machine() {
  ordered_json info{
      {"version", kVersion},
      {"processor", runtime::cpu_name()},
      {"instruction_set", runtime::instruction_set()},
      {"instruction_set_reason", runtime::instruction_set_reason()},
      {"instruction_sets", runtime::instruction_sets()},
      {"threads", runtime::threads()},
      {"threads_reason", runtime::threads_reason()}};
  for (const KernelChoice& choice : kernels_here())
    info["kernels"][choice.work] = {{"kernel", choice.kernel},
                                    {"reason", choice.reason}};
  return info;
}

ordered_json file_info(const std::string& path) {
  const io::SafetensorsFile file(path);
  ordered_json info{{"file", path}, {"tensors", ordered_json::array()}};
  std::int64_t numbers = 0;
  for (const auto& entry : file.entries()) {
    info["tensors"].push_back(
        {{"name", entry.name},
         {"type", entry.stored},
         {"shape",
          std::vector<std::int64_t>(entry.shape.begin(), entry.shape.end())}});
    numbers += entry.shape.numel();
  }
  info["numbers"] = numbers;
  info["metadata"] = file.metadata();
  return info;
}

ordered_json checkpoint_info(const std::string& path) {
  const Checkpoint checkpoint = read_checkpoint(path, ReadOptimizer::no);
  ordered_json info{{"checkpoint", path}};
  std::int64_t parameters = 0;
  for (const auto& [name, tensor] : checkpoint.weights)
    parameters += tensor.numel();
  info["model"] = std::string(checkpoint.model->kind());
  info["parameters"] = parameters;
  info["config"] =
      fields_to_json([&](FieldVisitor& v) { checkpoint.model->visit(v); });
  info["tokenizer"] = std::string(checkpoint.tokenizer->kind());
  info["tokens"] = checkpoint.tokenizer->vocab_size();
  for (const char* part : {"data", "train", "state"})
    if (checkpoint.info.contains(part)) {
      info[part] = checkpoint.info[part];
      info[part].erase("data_position");  // bytes of a generator
    }
  return info;
}

// Nested objects as indented lines.
void print_lines(const ordered_json& object, int indent) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object() && value.contains("kernel")) {
      fmt::print("{:{}}{:<{}} {} ({})\n", "", indent, name, 24 - indent,
                 value["kernel"].get<std::string>(),
                 value["reason"].get<std::string>());
    } else if (value.is_object()) {
      fmt::print("{:{}}{}\n", "", indent, name);
      print_lines(value, indent + 2);
    } else if (value.is_array() && name == "tensors") {
      for (const auto& t : value)
        fmt::print("{:{}}{:<8} {:<18} {}\n", "", indent,
                   t["type"].get<std::string>(), json_line(t["shape"]),
                   t["name"].get<std::string>());
    } else {
      fmt::print(
          "{:{}}{:<{}} {}\n", "", indent, name, 24 - indent,
          value.is_string() ? value.get<std::string>() : json_line(value));
    }
  }
}

int run(const Options& options) {
  ordered_json info;
  if (options.path.empty()) {
    info = machine();
  } else {
    const std::string path = checkpoint_path(options.path, Prefer::best);
    const io::SafetensorsFile file(path);
    const bool ours = file.metadata().contains("qkv");
    info = ours && !options.tensors ? checkpoint_info(path) : file_info(path);
  }
  if (options.json)
    fmt::print("{}\n", json_line(info));
  else
    print_lines(info, 0);
  return kDone;
}

const RegisterCommand kInfo({
    .name = "info",
    .purpose = Purpose::look,
    .help = "Tell what a run, a safetensors file or this machine holds",
    .examples = {{"A model and how it was trained", "qkv info runs/names"},
                 {"Names and shapes of its tensors",
                  "qkv info runs/names/best.safetensors --tensors"},
                 {"This machine", "qkv info"}},
    .setup =
        [](CLI::App& app) {
          auto options = std::make_shared<Options>();
          app.add_option(
                 "PATH", options->path,
                 "Run, checkpoint or safetensors file; none: this machine")
              ->type_name("RUN");
          app.add_flag("--tensors", options->tensors,
                       "Of a checkpoint, too, the tensors it holds");
          app.add_flag("--json", options->json, "One JSON object");
          return [options] { return run(*options); };
        },
});

}  // namespace
}  // namespace qkv::cli
