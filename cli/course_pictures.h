// What a run's weights show without any input.
#pragma once

#include "qkv/bundle.h"
#include "qkv/plot_course.h"

namespace qkv::cli {

// How often each token followed each other one in training, of a model that
// counts. name: what the run is called.
plot::PairCounts pair_counts_of(const Bundle& bundle, const std::string& name);

// Where the tokens' embeddings lie: of two dimensions as they are, else along
// the two directions in which they vary most.
plot::Scatter embedding_of(const Bundle& bundle, const std::string& name);

}  // namespace qkv::cli
