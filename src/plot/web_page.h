// The files of web/, built in.
#pragma once

#include <string_view>

namespace qkv::plot {

// With {{title}}, {{about}}, {{style}}, {{data}}, {{script}}, {{first}} (the
// codes of the head that is shown first) and {{rest}} (all others).
extern const std::string_view kPageHtml;
extern const std::string_view kPageCss;
extern const std::string_view kPageScript;  // all modules as one script

}  // namespace qkv::plot
