// Small trainings on questions made up on the spot, for experiments that
// compare what different networks learn.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/lab/experiment.h"
#include "qkv/data.h"
#include "qkv/model.h"
#include "qkv/plot.h"

namespace qkv::cli::lab {

// A model of the library. fields: of its configuration, as JSON.
struct SmallModel {
  const char *name, *kind, *fields;
};
// Its weights are drawn from the seed.
std::unique_ptr<LanguageModel> make(const SmallModel& model,
                                    std::int64_t vocab_size,
                                    std::int64_t block_size,
                                    std::uint64_t seed = 1);

// What is trained: the mean loss of a batch, and the logits (…,V) of what its
// targets (…) ask for.
struct Learner {
  std::vector<NamedTensor> parameters;
  std::function<Tensor(const data::Batch&)> loss;
  std::function<Tensor(const data::Batch&)> logits;
};
// logits (B,T,V) of the last `count` positions, which targets may be of alone.
Tensor of_the_last(const Tensor& logits, std::int64_t count);
Learner learner(LanguageModel& model);
// A network that is not a language model: its loss is the cross entropy.
Learner learner(const nn::Module& network,
                const std::function<Tensor(const data::Batch&)>& logits);

// Room for `count` questions of `length` tokens, `answers` targets each; both
// are to be filled.
data::Batch empty_questions(std::int64_t count, std::int64_t length,
                            std::int64_t answers);

// Makes up `count` questions with their answers.
using Questions = std::function<data::Batch(TorchRng& rng, std::int64_t count)>;

struct Training {
  std::int64_t steps = 1000;  // before Lab::steps
  std::int64_t batch = 32;
  double lr = 3e-3;  // of AdamW; up over a tenth of the steps, down as a cosine
};

struct Score {
  double loss = 0;      // nats, the mean over targets
  double accuracy = 0;  // the part of them whose logit is the largest
};

struct Fit {
  std::vector<plot::Point> curve;  // step, mean training loss around it
  Score score;                     // on questions drawn after training
};

// Draws the batches from `seed`: networks that are compared see the same ones.
// Runs on one thread: what is this small is not worth handing over.
Fit fit(const Lab& lab, const Learner& learner, const Questions& questions,
        const Training& training, std::uint64_t seed = 1);

Score score_of(const Learner& learner, const data::Batch& batch);

// While one lives, the library computes on one thread.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace qkv::cli::lab
