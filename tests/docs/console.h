// The commands that a document shows, with what it says they print.
//
// A document holds them in fenced blocks named `console`: a line that begins
// with "$ " is a command (a backslash at its end joins the next line), what
// follows up to the next one is its output, both streams as a terminal shows
// them; a line "…" stands for any number of lines. An HTML comment on the line
// before the fence can say how closely the output must agree:
//   <!-- similar -->   numbers within a tenth: a training rounds differently on
//                      another kind of processor
//   <!-- varies -->    made-up text and times: only the exit status is checked
//   <!-- long -->      more than some seconds: run by script/verify alone
// and nothing said, numbers may differ by one in their last place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace qkv::docs {

enum class Agreement { exact, similar, varies };

struct Step {
  std::string command;
  std::vector<std::string> output;
  Agreement agreement = Agreement::exact;
  bool lasting = false;  // marked long
  int line = 0;          // in the document, from 1
};

std::vector<Step> console_steps(std::string_view document);

// Empty, or what the document shows and what the command printed instead.
std::string difference(const Step& step,
                       const std::vector<std::string>& printed);

}  // namespace qkv::docs
