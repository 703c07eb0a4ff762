#include "cli/draw_sample.h"

#include <fmt/core.h>

#include "cli/run_options.h"

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

std::string judged_sample(LanguageModel& model, const data::Dataset& dataset,
                          std::int64_t i, std::int64_t tokens) {
  const Tokenizer& tokenizer = dataset.tokenizer();
  const auto prompt = prompt_ids(tokenizer, dataset.prompt(i));
  // An item is never longer than the context and the token after it.
  if (tokenizer.stop_token())
    tokens = model.block_size() + 1 - std::ssize(prompt);
  const std::string text = draw_sample(model, tokenizer, prompt, tokens,
                                       {.seed = static_cast<std::uint64_t>(i)})
                               .text;
  const std::string verdict = dataset.judge(text);
  return verdict.empty() ? text : fmt::format("{} ({})", text, verdict);
}

}  // namespace qkv::cli
