# Everything from outside, found once; script/bootstrap installs it.
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(cairo REQUIRED IMPORTED_TARGET cairo)
pkg_check_modules(highway REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)

add_library(qkv_dependencies INTERFACE)
target_link_libraries(qkv_dependencies INTERFACE
  OpenMP::OpenMP_CXX fmt::fmt nlohmann_json::nlohmann_json
  tomlplusplus::tomlplusplus PkgConfig::highway PkgConfig::utf8proc
  PkgConfig::xxhash
  $<LINK_ONLY:PkgConfig::cairo>)  # its headers are for src/plot alone
