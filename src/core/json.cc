#include "core/json.h"

#include <algorithm>
#include <vector>

#include "core/check.h"
#include "core/text.h"

namespace qkv {
namespace {

using nlohmann::json;

// Builds the value from the parser's events.
class Builder {
 public:
  explicit Builder(const std::string& where) : where_(where) {}

  json result;

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(json::number_integer_t value) { return add(value); }
  bool number_unsigned(json::number_unsigned_t value) { return add(value); }
  bool number_float(json::number_float_t value, const std::string&) {
    return add(value);
  }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(json::binary_t&) { return false; }  // not in JSON text
  bool start_object(std::size_t) { return open(json::object()); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    if (open_.back()->contains(name))
      fail_input("{}: not valid JSON: {} appears twice in one object", where_,
                 quote(name));
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&,
                   const json::exception&) {
    fail_input("{}: not valid JSON at byte {}", where_, byte);
  }

 private:
  json* place(json&& value) {
    if (open_.empty()) {
      result = std::move(value);
      return &result;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[key_] = std::move(value));
  }
  bool add(json&& value) {
    place(std::move(value));
    return true;
  }
  bool open(json&& value) {
    if (open_.size() == kMaxJsonDepth)
      fail_input("{}: JSON nested deeper than {}", where_, kMaxJsonDepth);
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& where_;
  std::vector<json*> open_;  // a child moves only after it was closed
  std::string key_;
};

}  // namespace

json parse_json(std::string_view text, const std::string& where) {
  const std::size_t nul = text.find('\0');  // the parser takes it for the end
  if (nul != text.npos)
    fail_input("{}: not valid JSON at byte {}: NUL", where, nul);
  Builder builder(where);
  json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder.result);
}

namespace {

// Any bytes as a string: a file name may be no UTF-8.
template <class Json>
std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string json_line(const nlohmann::json& value) { return dumped(value); }

std::string json_line(const nlohmann::ordered_json& value) {
  return dumped(value);
}

void wrong_json_type(const std::string& where, const char* name,
                     const nlohmann::json& value) {
  fail_input("{}: '{}' has the wrong type: {}", where, name, value.type_name());
}

}  // namespace qkv
