// Each configuration struct is described once, by a function
//   template <class Visitor> void visit_fields(Visitor&& visit, Config& config)
// that calls visit(value, Field{name, help, …}) for each of its members. The
// command line, TOML, the checkpoint's JSON, the difference shown when a resume
// does not fit, and the documentation are all made from it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace qkv {

struct Field {
  std::string_view name;  // snake_case; the option is --name with dashes
  std::string_view help;  // one sentence without a full stop, with its unit
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool above_min = false;  // min itself is refused
};

// The names of an enumeration's values, in order: specialise
//   template <> struct EnumNames<Activation> {
//     static constexpr std::string_view names[] = {"relu", …};
//   };
template <class E>
struct EnumNames;

template <class E>
std::string_view name_of_enum(E value) {
  return EnumNames<E>::names[static_cast<std::size_t>(value)];
}

// The one way in for what reads or writes a configuration field by field.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void visit(std::int64_t& value, const Field& field) = 0;
  virtual void visit(double& value, const Field& field) = 0;
  virtual void visit(bool& value, const Field& field) = 0;
  virtual void visit(std::string& value, const Field& field) = 0;
  virtual void visit_choice(int& index, std::span<const std::string_view> names,
                            const Field& field) = 0;

  // What visit_fields calls.
  template <class T>
  void operator()(T& value, const Field& field) {
    if constexpr (std::is_enum_v<T>) {
      int index = static_cast<int>(value);
      visit_choice(index, EnumNames<T>::names, field);
      value = static_cast<T>(index);
    } else {
      visit(value, field);
    }
  }
};

}  // namespace qkv
