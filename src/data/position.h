// Where the training order stands, as text.
#pragma once

#include <optional>
#include <string>

#include "qkv/rng.h"

namespace qkv::data {

// The order of a data set's batches: a generator, and a checksum of the data it
// chooses from.
struct Position {
  std::string fingerprint;
  std::optional<TorchRng> rng;  // none before start()

  TorchRng& started();  // throws (internal) before start()
  std::string str() const;
  // Throws when the text is damaged or belongs to other data.
  void set(const std::string& text);
};

}  // namespace qkv::data
