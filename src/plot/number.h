// How numbers are written in pictures: a point as decimal mark whatever the
// locale, U+2212 for minus, as many digits as a reader can use.
#pragma once

#include <string>

namespace qkv::plot {

std::string weight_text(double value);  // 0.312, 0.0412, <0.001, 0
std::string cell_text(double value);    // for a narrow cell: .31, 1, 0
std::string score_text(double value);   // three digits: 3.81, −30.5, −∞
std::string loss_text(double value);    // 2.0853
std::string count_text(double value);   // 10,745,088
// `decimals` digits after the point, thousands parted: 12,000 or −0.25; from a
// thousand million on as 1.5e9.
std::string fixed_text(double value, int decimals);

}  // namespace qkv::plot
