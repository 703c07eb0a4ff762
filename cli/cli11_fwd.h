// CLI11's names without its headers, which take seconds to compile: only files
// that define options include <CLI/App.hpp>.
#pragma once

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI
