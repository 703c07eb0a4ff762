// Makes a ModelConfig out of a plain struct with visit_fields and a factory.
#pragma once

#include <memory>

#include "qkv/model.h"

namespace qkv {

// Traits has `static constexpr std::string_view kind` and
// `static std::unique_ptr<LanguageModel> make(const Config&)`.
template <class Config, class Traits>
class ConfigOf final : public ModelConfig {
 public:
  ConfigOf() = default;
  explicit ConfigOf(const Config& config) : config_(config) {}

  std::string_view kind() const override { return Traits::kind; }
  void visit(FieldVisitor& visitor) override { visit_fields(visitor, config_); }
  std::unique_ptr<ModelConfig> clone() const override {
    return std::make_unique<ConfigOf>(config_);
  }
  std::unique_ptr<LanguageModel> make() const override {
    return Traits::make(config_);
  }
  void set_vocab_size(std::int64_t n) override { config_.vocab_size = n; }
  void set_block_size(std::int64_t n) override { config_.block_size = n; }

  static std::unique_ptr<ModelConfig> defaults() {
    return std::make_unique<ConfigOf>();
  }

 private:
  Config config_;
};

}  // namespace qkv
