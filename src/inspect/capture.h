// A tap that keeps what passes the sites one asks for.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "qkv/model.h"

namespace qkv::inspect {

class Capture final : public Tap {
 public:
  // layer -1: of every layer.
  Capture(std::set<std::string, std::less<>> names, int layer);

  bool wants(Site site) const override;
  Tensor at(Site site, Tensor value) override;

  const Tensor& get(int layer, const std::string& name) const;

 private:
  std::set<std::string, std::less<>> names_;
  int layer_;
  std::map<std::pair<int, std::string>, Tensor> kept_;
};

// One forward pass over one sequence, without gradients.
void run(LanguageModel& model, std::span<const std::int64_t> ids, Tap& tap);

}  // namespace qkv::inspect
