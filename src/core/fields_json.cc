#include "core/fields_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/check.h"
#include "core/json.h"
#include "core/text.h"

namespace qkv {
namespace {

using nlohmann::json;

// The range of a field in words: "at least 1", "above 0 and at most 1".
std::string range_of(const Field& field) {
  std::string text;
  if (std::isfinite(field.min))
    text += fmt::format("{} {:g}", field.above_min ? "above" : "at least",
                        field.min);
  if (std::isfinite(field.max))
    text +=
        fmt::format("{}at most {:g}", text.empty() ? "" : " and ", field.max);
  return text;
}

bool in_range(double value, const Field& field) {
  return (field.above_min ? value > field.min : value >= field.min) &&
         value <= field.max;
}

std::string one_of(std::span<const std::string_view> names) {
  return fmt::format("one of {}", fmt::join(names, ", "));
}

std::string did_you_mean(std::string_view written,
                         std::span<const std::string_view> names) {
  return qkv::did_you_mean(
      written, std::vector<std::string>(names.begin(), names.end()));
}

class ToJson final : public FieldVisitor {
 public:
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  void visit(std::int64_t& v, const Field& f) override { put(f) = v; }
  void visit(double& v, const Field& f) override { put(f) = v; }
  void visit(bool& v, const Field& f) override { put(f) = v; }
  void visit(std::string& v, const Field& f) override { put(f) = v; }
  void visit_choice(int& index, std::span<const std::string_view> names,
                    const Field& f) override {
    put(f) = std::string(names[index]);
  }

 private:
  nlohmann::ordered_json& put(const Field& f) {
    return object[std::string(f.name)];
  }
};

class FromJson final : public FieldVisitor {
 public:
  FromJson(const json& object, const std::string& where)
      : object_(object), where_(where) {}
  std::vector<std::string> names;

  void visit(std::int64_t& v, const Field& f) override {
    const json* given = find(f);
    if (!given) return;
    // A float that is a whole number is refused: nothing converts silently.
    if (!given->is_number_integer() ||
        (given->is_number_unsigned() &&
         given->get<std::uint64_t>() > INT64_MAX))
      wrong(f, *given, "a whole number");
    const auto value = given->get<std::int64_t>();
    if (!in_range(static_cast<double>(value), f)) wrong(f, *given, range_of(f));
    v = value;
  }
  void visit(double& v, const Field& f) override {
    const json* given = find(f);
    if (!given) return;
    if (!given->is_number()) wrong(f, *given, "a number");
    const auto value = given->get<double>();
    if (!std::isfinite(value)) wrong(f, *given, "a finite number");
    if (!in_range(value, f)) wrong(f, *given, range_of(f));
    v = value;
  }
  void visit(bool& v, const Field& f) override {
    const json* given = find(f);
    if (!given) return;
    if (!given->is_boolean()) wrong(f, *given, "true or false");
    v = given->get<bool>();
  }
  void visit(std::string& v, const Field& f) override {
    const json* given = find(f);
    if (!given) return;
    if (!given->is_string()) wrong(f, *given, "a text");
    v = given->get<std::string>();
  }
  void visit_choice(int& index, std::span<const std::string_view> choices,
                    const Field& f) override {
    const json* given = find(f);
    if (!given) return;
    if (given->is_string())
      for (std::size_t i = 0; i < choices.size(); ++i)
        if (choices[i] == given->get<std::string>()) {
          index = static_cast<int>(i);
          return;
        }
    wrong(f, *given, one_of(choices),
          given->is_string() ? did_you_mean(given->get<std::string>(), choices)
                             : "");
  }

 private:
  const json* find(const Field& f) {
    names.emplace_back(f.name);
    auto it = object_.find(std::string(f.name));
    return it == object_.end() ? nullptr : &*it;
  }
  [[noreturn]] void wrong(const Field& f, const json& given,
                          const std::string& allowed,
                          const std::string& hint = "") {
    fail_input("{}: {} must be {}, not {}{}", where_, f.name, allowed,
               given.dump(-1, ' ', false, json::error_handler_t::replace),
               hint);
  }

  const json& object_;
  const std::string& where_;
};

// Parses one field's text by the field's type.
class FromText final : public FieldVisitor {
 public:
  FromText(const std::string& text, std::string_view name,
           const std::string& what)
      : text_(text), name_(name), what_(what) {}
  json result;

  void visit(std::int64_t&, const Field& f) override {
    if (f.name != name_) return;
    std::int64_t value = 0;
    if (!parse(value)) wrong("a whole number");
    if (!in_range(static_cast<double>(value), f)) wrong(range_of(f));
    result = value;
  }
  void visit(double&, const Field& f) override {
    if (f.name != name_) return;
    double value = 0;
    if (!parse(value) || !std::isfinite(value)) wrong("a finite number");
    if (!in_range(value, f)) wrong(range_of(f));
    result = value;
  }
  void visit(bool&, const Field& f) override {
    if (f.name != name_) return;
    if (text_ == "true" || text_ == "1" || text_ == "yes" || text_ == "on")
      result = true;
    else if (text_ == "false" || text_ == "0" || text_ == "no" ||
             text_ == "off")
      result = false;
    else
      wrong("true or false");
  }
  void visit(std::string&, const Field& f) override {
    if (f.name != name_) return;
    if (invalid_utf8(text_) != text_.npos)
      fail_input("{} must be UTF-8, not {}", what_, quote(text_));
    result = text_;
  }
  void visit_choice(int&, std::span<const std::string_view> choices,
                    const Field& f) override {
    if (f.name != name_) return;
    if (std::find(choices.begin(), choices.end(), text_) == choices.end())
      wrong(one_of(choices), did_you_mean(text_, choices));
    result = text_;
  }

 private:
  template <class T>
  bool parse(T& value) {
    const char* end = text_.data() + text_.size();
    const char* begin = text_.data();
    if (begin != end && *begin == '+') ++begin;
    auto [stop, error] = std::from_chars(begin, end, value);
    return error == std::errc() && stop == end;
  }
  [[noreturn]] void wrong(const std::string& allowed,
                          const std::string& hint = "") {
    fail_input("{} must be {}, not '{}'{}", what_, allowed, text_, hint);
  }

  const std::string& text_;
  std::string_view name_;
  const std::string& what_;
};

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1,
                         diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

nlohmann::ordered_json fields_to_json(VisitConfig config) {
  ToJson visitor;
  config(visitor);
  return std::move(visitor.object);
}

void fields_from_json(const json& object, VisitConfig config,
                      const std::string& where, Absent absent) {
  if (!object.is_object()) fail_input("{}: must be an object of fields", where);
  FromJson visitor(object, where);
  config(visitor);
  if (absent == Absent::refused)
    for (const std::string& name : visitor.names)
      if (!object.contains(name))
        fail_input("{}: field '{}' is missing", where, name);
  for (const auto& [name, value] : object.items()) {
    if (std::find(visitor.names.begin(), visitor.names.end(), name) !=
        visitor.names.end())
      continue;
    fail_input("{}: there is no field '{}'{}", where, name,
               did_you_mean(name, visitor.names));
  }
}

json field_from_text(const std::string& text, std::string_view name,
                     VisitConfig config, const std::string& what) {
  FromText visitor(text, name, what);
  config(visitor);
  return visitor.result;
}

std::vector<std::string> field_differences(VisitConfig here,
                                           VisitConfig there) {
  const auto a = fields_to_json(here), b = fields_to_json(there);
  std::vector<std::string> lines;
  for (const auto& [name, value] : a.items()) {
    const auto other = b.find(name);
    if (other == b.end() || *other != value)
      lines.push_back(fmt::format(
          "{}: {} here, {} there", name, value.dump(),
          other == b.end() ? std::string("nothing") : other->dump()));
  }
  return lines;
}

std::string nearest(std::string_view written,
                    const std::vector<std::string>& candidates) {
  const auto begun = [&](const std::string& candidate) {
    return candidate.starts_with(written);
  };
  if (written.size() >= 3 &&
      std::count_if(candidates.begin(), candidates.end(), begun) == 1)
    return *std::find_if(candidates.begin(), candidates.end(), begun);
  std::string best;
  std::size_t least = std::max<std::size_t>(2, written.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(written, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view written,
                         const std::vector<std::string>& candidates) {
  const std::string near = nearest(written, candidates);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

}  // namespace qkv
