// The files of web/, built in.
#pragma once

#include <string_view>

namespace qkv::plot {

extern const std::string_view
    kPageHtml;  // with {{title}}, {{about}}, {{style}},
                // {{data}}, {{codes}}, {{script}}
extern const std::string_view kPageCss;
extern const std::string_view kPageScript;  // all modules as one script

}  // namespace qkv::plot
