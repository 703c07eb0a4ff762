#include "plot/number.h"

#include <fmt/format.h>

#include <cmath>

namespace qkv::plot {
namespace {

constexpr const char* kMinus = "\u2212";

// NaN and the infinities; "" for a number.
std::string no_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? std::string(kMinus) + "∞" : "∞";
  return "";
}

// `digits` significant digits without an exponent, for 0.001 ≤ |value|.
std::string significant(double value, int digits) {
  const int exponent = static_cast<int>(std::floor(std::log10(value)));
  const int decimals = std::max(0, digits - 1 - exponent);
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::string weight_text(double value) {
  if (std::string text = no_number(value); !text.empty()) return text;
  if (value == 0) return "0";
  if (std::abs(value) < 0.001) return "<0.001";
  if (value == 1) return "1";
  return (value < 0 ? kMinus : "") + significant(std::abs(value), 3);
}

std::string cell_text(double value) {
  if (std::string text = no_number(value); !text.empty()) return text;
  if (value == 0) return "0";
  if (value >= 0.995) return "1";
  return fmt::format("{:.2f}", value).substr(1);
}

std::string score_text(double value) {
  if (std::string text = no_number(value); !text.empty()) return text;
  if (std::abs(value) < 0.005) return "0";
  return (value < 0 ? kMinus : "") +
         (std::abs(value) < 0.1 ? fmt::format("{:.2f}", std::abs(value))
                                : significant(std::abs(value), 3));
}

std::string fixed_text(double value, int decimals) {
  if (std::string text = no_number(value); !text.empty()) return text;
  if (std::abs(value) >= 1e9) {
    const int exponent = static_cast<int>(std::log10(std::abs(value)));
    return fmt::format("{}{:.3g}e{}", value < 0 ? kMinus : "",
                       std::abs(value) / std::pow(10, exponent), exponent);
  }
  std::string text = fmt::format("{:.{}f}", std::abs(value), decimals);
  const std::size_t point = std::min(text.find('.'), text.size());
  for (std::size_t i = point; i > 3; i -= 3) text.insert(i - 3, ",");
  const bool zero = text.find_first_not_of("0.,") == std::string::npos;
  return value < 0 && !zero ? kMinus + text : text;
}

std::string loss_text(double value) { return fixed_text(value, 4); }

std::string count_text(double value) { return fixed_text(value, 0); }

}  // namespace qkv::plot
