// The arithmetic of one head, written out.
#pragma once

#include <string>
#include <vector>

#include "qkv/inspect.h"
#include "qkv/plot.h"

namespace qkv::cli {

// X, Q, K, V, QKᵀ, scale, mask, softmax and ·V as tables of numbers, each under
// the formula that gives it, no wider than the terminal.
std::string arithmetic_text(const inspect::HeadSteps& steps,
                            const std::vector<plot::Token>& tokens,
                            const plot::Terminal& terminal);

}  // namespace qkv::cli
