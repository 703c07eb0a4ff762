#include "tests/support/pattern.h"

#include <map>
#include <regex>

namespace qkv::test {
namespace {

const std::regex& compiled(const std::string& pattern,
                           bool ignore_case = false) {
  static std::map<std::pair<std::string, bool>, std::regex> all;
  const auto [at, added] =
      all.try_emplace({pattern, ignore_case}, pattern,
                      ignore_case ? std::regex::ECMAScript | std::regex::icase
                                  : std::regex::ECMAScript);
  return at->second;
}

}  // namespace

bool found(const std::string& text, const std::string& pattern,
           bool ignore_case) {
  return std::regex_search(text, compiled(pattern, ignore_case));
}

std::vector<std::vector<std::string>> all_found(const std::string& text,
                                                const std::string& pattern) {
  std::vector<std::vector<std::string>> all;
  const std::regex& regex = compiled(pattern);
  for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end;
       ++i)
    all.emplace_back(i->begin(), i->end());
  return all;
}

std::string replaced(const std::string& text, const std::string& pattern,
                     const std::string& by) {
  return std::regex_replace(text, compiled(pattern), by);
}

}  // namespace qkv::test
