#include "tests/docs/console.h"

#include <cmath>
#include <sstream>

namespace qkv::docs {
namespace {

constexpr std::string_view kAnyLines = "…";

bool digit(char c) { return c >= '0' && c <= '9'; }

// A line as words and numbers in turn: the text with each number replaced by
// one mark, and the numbers with the size of one in their last place.
struct Parts {
  std::string text;
  std::vector<double> numbers, units;
};

Parts parts_of(const std::string& line) {
  Parts parts;
  std::size_t i = 0;
  while (i < line.size()) {
    if (!digit(line[i])) {
      // Columns move with the sign and the length of a number.
      const bool filler = line[i] == ' ' || line[i] == '-';
      if (!filler || parts.text.empty() || parts.text.back() != ' ')
        parts.text += filler ? ' ' : line[i];
      ++i;
      continue;
    }
    std::string number;
    double unit = 1;
    bool decimals = false;
    const bool negative = i > 0 && line[i - 1] == '-';
    for (; i < line.size(); ++i) {
      const bool inside = i + 1 < line.size() && digit(line[i + 1]);
      if (line[i] == ',' && inside) continue;  // 1,234
      if (line[i] == '.' && inside && !decimals)
        decimals = true;
      else if (digit(line[i]))
        unit /= decimals ? 10 : 1;
      else
        break;
      number += line[i];
    }
    parts.numbers.push_back(std::stod(number) * (negative ? -1 : 1));
    parts.units.push_back(unit);
    parts.text += '#';
  }
  while (!parts.text.empty() && parts.text.back() == ' ') parts.text.pop_back();
  return parts;
}

bool agree(const std::string& shown, const std::string& printed,
           Agreement agreement) {
  const Parts a = parts_of(shown), b = parts_of(printed);
  if (a.text != b.text || a.numbers.size() != b.numbers.size()) return false;
  for (std::size_t i = 0; i < a.numbers.size(); ++i) {
    double allowed = 1.001 * a.units[i];
    if (agreement == Agreement::similar)
      allowed = std::max(allowed, 0.1 * std::abs(a.numbers[i]));
    // A whole number is a count: it is what it is.
    else if (a.units[i] == 1 && b.units[i] == 1)
      allowed = 0;
    if (std::abs(a.numbers[i] - b.numbers[i]) > allowed) return false;
  }
  return true;
}

bool matches(const std::vector<std::string>& shown, std::size_t s,
             const std::vector<std::string>& printed, std::size_t p,
             Agreement agreement) {
  for (; s < shown.size(); ++s, ++p) {
    if (shown[s] == kAnyLines) {
      for (std::size_t rest = p; rest <= printed.size(); ++rest)
        if (matches(shown, s + 1, printed, rest, agreement)) return true;
      return false;
    }
    if (p >= printed.size() || !agree(shown[s], printed[p], agreement))
      return false;
  }
  return p == printed.size();
}

}  // namespace

std::vector<Step> console_steps(std::string_view document) {
  std::vector<Step> steps;
  std::istringstream in{std::string(document)};
  std::string line, before;
  bool inside = false, joined = false;
  Agreement agreement = Agreement::exact;
  bool lasting = false;
  for (int number = 1; std::getline(in, line); ++number) {
    if (!inside) {
      if (line == "```console") {
        inside = true;
        const auto says = [&](const char* word) {
          return before.starts_with("<!--") &&
                 before.find(word) != std::string::npos;
        };
        agreement = says("varies")    ? Agreement::varies
                    : says("similar") ? Agreement::similar
                                      : Agreement::exact;
        lasting = says("long");
      }
      before = line;
      continue;
    }
    if (line == "```") {
      inside = joined = false;
      before.clear();
    } else if (joined || line.starts_with("$ ")) {
      if (!joined) steps.push_back({"", {}, agreement, lasting, number});
      steps.back().command += joined ? "\n" + line : line.substr(2);
      joined = line.ends_with("\\");
    } else if (!steps.empty()) {
      steps.back().output.push_back(line);
    }
  }
  return steps;
}

std::string difference(const Step& step,
                       const std::vector<std::string>& printed) {
  if (step.agreement == Agreement::varies) return "";
  if (matches(step.output, 0, printed, 0, step.agreement)) return "";
  std::string text = "the document shows:\n";
  for (const auto& line : step.output) text += "  " + line + "\n";
  text += "the command prints:\n";
  for (const auto& line : printed) text += "  " + line + "\n";
  return text;
}

}  // namespace qkv::docs
