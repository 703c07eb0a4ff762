# Writes the page's files as one C++ source. Run as
#   cmake -D WEB=web -D SCRIPTS="a.js b.js" -D OUT=web_page.cc -P embed_web.cmake
# The modules, in an order in which each stands behind what it imports, become
# one script: a page that is a single file has no modules.
separate_arguments(SCRIPTS)
set(script "(() => {\n'use strict';\n")
foreach(name IN LISTS SCRIPTS)
  file(READ ${WEB}/${name} module)
  string(REGEX REPLACE "import {[^}]*} from '[^']*';\n" "" module "${module}")
  string(REGEX REPLACE "\nexport " "\n" module "${module}")
  string(APPEND script "\n// ${name}\n${module}")
endforeach()
string(APPEND script "})();\n")
file(READ ${WEB}/page.html html)
file(READ ${WEB}/page.css css)
file(WRITE ${OUT} "// Made of web/ by cmake/embed_web.cmake.
#include \"plot/web_page.h\"

namespace qkv::plot {

const std::string_view kPageHtml = R\"embed(${html})embed\";
const std::string_view kPageCss = R\"embed(${css})embed\";
const std::string_view kPageScript = R\"embed(${script})embed\";

}  // namespace qkv::plot
")
