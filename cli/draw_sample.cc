#include "cli/draw_sample.h"

namespace qkv::cli {

Sample draw_sample(
    LanguageModel& model, const Tokenizer& tokenizer,
    const std::vector<std::int64_t>& prompt, std::int64_t max_tokens,
    const generate::SampleOptions& options,
    const std::function<void(const std::string& piece)>& on_piece) {
  Sample sample;
  generate::Request request;
  request.prompt = prompt;
  request.max_tokens = max_tokens;
  request.options = options;
  request.vocab_size = tokenizer.vocab_size();
  if (tokenizer.stop_token()) request.stop = {*tokenizer.stop_token()};
  request.on_token = [&](std::int64_t token) {
    ++sample.tokens;
    if (on_piece) on_piece(tokenizer.decode({&token, 1}));
    return true;
  };
  std::vector<std::int64_t> all = prompt;
  const auto generated = generate::generate(model, request);
  all.insert(all.end(), generated.begin(), generated.end());
  sample.text = tokenizer.decode(all);
  return sample;
}

}  // namespace qkv::cli
