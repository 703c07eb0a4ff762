// Configurations as JSON, through their visit_fields.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/parallel.h"
#include "qkv/fields.h"

namespace qkv {

// Calls a configuration's visit_fields with the visitor.
using VisitConfig = FunctionRef<void(FieldVisitor&)>;

nlohmann::ordered_json fields_to_json(VisitConfig config);

// Sets the fields that the object names and leaves the others. Throws an input
// error that begins with `where` and names field, value and what is allowed:
// unknown name (with the nearest one), wrong type, out of range, unknown
// choice, or, where all have to be there, a name that is missing.
enum class Absent { kept, refused };
void fields_from_json(const nlohmann::json& object, VisitConfig config,
                      const std::string& where, Absent absent = Absent::kept);

// The value of one field from text ("3e-4", "true", "gelu-tanh"), as JSON of
// the field's type. what names the option in errors: "--lr".
nlohmann::json field_from_text(const std::string& text, std::string_view name,
                               VisitConfig config, const std::string& what);

// One line for each field that differs: "n_layer: 4 here, 6 there".
std::vector<std::string> field_differences(VisitConfig here, VisitConfig there);

// The only name among candidates that what was written begins, or else the one
// that is nearest; empty when none is near.
std::string nearest(std::string_view written,
                    const std::vector<std::string>& candidates);
// "; did you mean 'NAME'?" with the nearest, to end a message; or empty.
std::string did_you_mean(std::string_view written,
                         const std::vector<std::string>& candidates);

}  // namespace qkv
