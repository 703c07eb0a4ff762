// What a refusal of the program looks like.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/program.h"

namespace qkv::test {

// Exit code, one line, holding every part.
inline void expect_refused(const Ran& ran, int code,
                           const std::vector<std::string>& parts) {
  EXPECT_EQ(ran.code, code) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  for (const std::string& part : parts)
    EXPECT_NE(ran.err.find(part), std::string::npos)
        << "lacks '" << part << "': " << ran.err;
}

}  // namespace qkv::test
