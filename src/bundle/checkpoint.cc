#include "bundle/checkpoint.h"

#include <filesystem>

#include "core/check.h"
#include "core/fields_json.h"
#include "core/json.h"
#include "qkv/io.h"

namespace qkv {
namespace {

using nlohmann::json;

constexpr const char* kMetadataKey = "qkv";

// A member that has to be there, of the type that is asked for.
const json& member(const json& object, const char* name, json::value_t type,
                   const std::string& where) {
  auto it = object.find(name);
  if (it == object.end())
    fail_input("{}: '{}' is missing from the checkpoint's description", where,
               name);
  const bool fits = type == json::value_t::number_integer
                        ? it->is_number_integer()
                        : it->type() == type;
  if (!fits)
    fail_input(
        "{}: '{}' in the checkpoint's description has the wrong type: {}",
        where, name, it->type_name());
  return *it;
}

}  // namespace

Checkpoint read_checkpoint(const std::string& path,
                           ReadOptimizer read_optimizer) {
  const io::SafetensorsFile file(path);
  const auto& metadata = file.metadata();
  const auto text = metadata.find(kMetadataKey);
  if (text == metadata.end())
    fail_input(
        "{}: a safetensors file, but no checkpoint of qkv: it has no "
        "metadata '{}'",
        path, kMetadataKey);
  if (!file.has_checksums())
    fail_input(
        "{}: a checkpoint without checksums: it was changed by another "
        "program, or is damaged",
        path);
  Checkpoint checkpoint;
  const std::string where = path + ": metadata '" + kMetadataKey + "'";
  checkpoint.info = parse_json(text->second, where);
  const json& info = checkpoint.info;
  if (!info.is_object()) fail_input("{}: must be an object", where);
  const auto version =
      member(info, "version", json::value_t::number_integer, path)
          .get<std::int64_t>();
  if (version < 1 || version > kCheckpointVersion)
    fail_input("{}: a checkpoint of version {}; this program reads up to {}",
               path, version, kCheckpointVersion);

  for (const char* part : {"data", "train", "state"})
    if (info.contains(part)) member(info, part, json::value_t::object, path);
  const json& model = member(info, "model", json::value_t::object, path);
  try {
    checkpoint.model = model_config(
        member(model, "kind", json::value_t::string, path).get<std::string>());
  } catch (const Error& error) {
    fail_input("{}: model: {}", path, error.what());
  }
  fields_from_json(
      member(model, "config", json::value_t::object, path),
      [&](FieldVisitor& visitor) { checkpoint.model->visit(visitor); },
      path + ": model", Absent::refused);
  checkpoint.tokenizer = tokenizer_from_json(
      member(info, "tokenizer", json::value_t::object, path).dump(),
      path + ": tokenizer");

  for (const io::TensorEntry& entry : file.entries()) {
    if (entry.name.starts_with("model."))
      checkpoint.weights[entry.name.substr(6)] = file.read(entry.name);
    else if (entry.name.starts_with("optimizer.")) {
      if (read_optimizer == ReadOptimizer::yes)
        checkpoint.optimizer[entry.name.substr(10)] = file.read(entry.name);
    } else {
      fail_input("{}: tensor '{}' belongs to no part of a checkpoint", path,
                 entry.name);
    }
  }
  return checkpoint;
}

void write_checkpoint(const std::string& path, const LanguageModel& model,
                      const Tokenizer& tokenizer,
                      const std::vector<nn::NamedTensor>& optimizer,
                      const json& info) {
  io::NamedTensors tensors;
  std::vector<Tensor> seen;
  for (const nn::NamedTensor& p : model.state()) {
    bool again = false;
    for (const Tensor& other : seen) again |= other.same_storage(p.tensor);
    if (again) continue;  // a tied parameter is stored once
    seen.push_back(p.tensor);
    tensors.emplace_back("model." + p.name, p.tensor);
  }
  for (const nn::NamedTensor& s : optimizer)
    tensors.emplace_back("optimizer." + s.name, s.tensor);

  const auto config = model.config().clone();
  json all = info;
  all["version"] = kCheckpointVersion;
  all["model"] = {{"kind", config->kind()},
                  {"config", fields_to_json([&](FieldVisitor& visitor) {
                     config->visit(visitor);
                   })}};
  all["tokenizer"] = json::parse(tokenizer.to_json());
  io::write_safetensors(path, tensors, {{kMetadataKey, all.dump()}},
                        {.checksums = true});
}

std::string checkpoint_path(const std::string& path, Prefer prefer) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return path;
  const char* first = prefer == Prefer::best ? "best" : "last";
  const char* second = prefer == Prefer::best ? "last" : "best";
  for (const char* name : {first, second}) {
    const fs::path file = fs::path(path) / (std::string(name) + ".safetensors");
    if (fs::exists(file, error)) return file.string();
    if (error) fail_input("{}: cannot be read: {}", path, error.message());
  }
  fail_input(
      "{}: no run of qkv: it holds neither best.safetensors nor "
      "last.safetensors",
      path);
}

}  // namespace qkv
