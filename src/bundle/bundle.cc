#include "qkv/bundle.h"

#include <cmath>

#include "bundle/checkpoint.h"
#include "core/check.h"
#include "core/json.h"
#include "ops/finite.h"

namespace qkv {

Bundle load_bundle(const std::string& path) {
  Bundle bundle;
  bundle.path = checkpoint_path(path, Prefer::best);
  Checkpoint checkpoint = read_checkpoint(bundle.path, ReadOptimizer::no);
  nn::SkipInit skip_init;
  try {
    bundle.model = checkpoint.model->make();
    bundle.model->load(checkpoint.weights);
  } catch (const Error& error) {
    fail_input("{}: {}", bundle.path, error.what());
  }
  for (const nn::NamedTensor& p : bundle.model->state())
    if (const auto fault = first_nonfinite(p.tensor); !fault.empty())
      fail_numeric("{}: weight '{}': {}", bundle.path, p.name, fault);
  bundle.tokenizer = std::move(checkpoint.tokenizer);
  // A model may have room for more tokens than its text had.
  if (bundle.tokenizer->vocab_size() > bundle.model->vocab_size())
    fail_input("{}: the tokenizer has {} tokens, the model {}", bundle.path,
               bundle.tokenizer->vocab_size(), bundle.model->vocab_size());
  const auto state = json_value(checkpoint.info, "state",
                                nlohmann::json::object(), bundle.path);
  bundle.step = json_value(state, "step", std::int64_t{0}, bundle.path);
  const auto loss = state.find("best_validation_loss");
  bundle.validation_loss = loss != state.end() && loss->is_number()
                               ? loss->get<double>()
                               : std::nan("");
  if (checkpoint.info.contains("data"))
    bundle.data = checkpoint.info["data"].dump();
  return bundle;
}

}  // namespace qkv
