// Regular expressions (ECMAScript's). <regex> takes seconds to compile: only
// pattern.cc includes it.
#pragma once

#include <string>
#include <vector>

namespace qkv::test {

// Whether the pattern occurs anywhere in the text.
bool found(const std::string& text, const std::string& pattern,
           bool ignore_case = false);

// Each occurrence: the whole of it, then its groups ("" where one took no
// part).
std::vector<std::vector<std::string>> all_found(const std::string& text,
                                                const std::string& pattern);

std::string replaced(const std::string& text, const std::string& pattern,
                     const std::string& by);

}  // namespace qkv::test
