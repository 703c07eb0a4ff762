// Published numbers of the course, beside what comes out here.
#pragma once

#include <string>

namespace qkv::cli {

// Trains with the published settings on the files in `folder` and prints a row
// a number. Returns kDone when all are within their tolerance, else kNumeric;
// missing files are named and left out.
int print_parity(const std::string& folder, bool json);

}  // namespace qkv::cli
