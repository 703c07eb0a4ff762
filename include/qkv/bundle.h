// A model with what belongs to it, read from a run or a checkpoint.
#pragma once

#include <memory>
#include <string>

#include "qkv/export.h"
#include "qkv/model.h"
#include "qkv/tokenizer.h"

namespace qkv {

struct Bundle {
  std::unique_ptr<LanguageModel> model;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string path;            // the file it was read from
  std::int64_t step = 0;       // of the training that made it
  double validation_loss = 0;  // NaN when it was never measured
  std::string data;            // what it was trained on, as JSON
};

// path is a checkpoint, or a run's folder: then its best checkpoint, or its
// last one where there is no best. Throws naming the file and what is wrong
// with it.
QKV_API Bundle load_bundle(const std::string& path);

}  // namespace qkv
