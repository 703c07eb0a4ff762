// Resuming: every kind of data set goes on where its state was taken.
#include <gtest/gtest.h>

#include "tests/data/support.h"
#include "tests/support/allocation_counter.h"

namespace qkv::data {
namespace {

using test::TempFolder;
using test::write_bytes;

std::vector<DataConfig> every_kind(const TempFolder& folder) {
  std::string content;
  for (int i = 0; i < 400; ++i) content += std::to_string(i * i) + "\n";
  std::vector<DataConfig> configs(7);
  configs[0].lines = configs[1].text = write_bytes(folder / "x", content);
  configs[2].task = "sort";
  configs[3].task = "reverse";
  configs[4].task = "copy";
  configs[5].task = "add";
  configs[6].task = "induction";
  return configs;
}

Ids batches(Dataset& d, int n) {
  Ids all;
  for (int i = 0; i < n; ++i) {
    const Batch batch = d.next(13);
    for (const Tensor& t : {batch.ids, batch.targets}) {
      const Ids values = t.to_vector<std::int64_t>();
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  return all;
}

TEST(DataPosition, TwentyBatchesAreTenAndTen) {
  TempFolder folder;
  for (const DataConfig& config : every_kind(folder)) {
    const auto straight = open_seeded(config);
    const Ids twenty = batches(*straight, 20);
    const auto first = open_seeded(config);
    Ids ten_and_ten = batches(*first, 10);
    const std::string state = first->state();
    EXPECT_LT(state.size(), 10'000u);
    // The resumed process never calls start().
    TorchRng rng(1);
    const auto second = open(config, {}, rng);
    second->set_state(state);
    EXPECT_EQ(second->state(), state);
    const Ids ten = batches(*second, 10);
    ten_and_ten.insert(ten_and_ten.end(), ten.begin(), ten.end());
    EXPECT_EQ(ten_and_ten, twenty) << straight->describe();
    // Evaluating on the way changes nothing.
    const auto third = open_seeded(config);
    batches(*third, 10);
    third->evaluation(Split::train, 0, 5);
    EXPECT_EQ(batches(*third, 10), ten) << straight->describe();
  }
}

TEST(DataPosition, AnotherSeedIsAnotherOrder) {
  TempFolder folder;
  for (const DataConfig& config : every_kind(folder))
    EXPECT_NE(batches(*open_seeded(config, {}, 1), 1),
              batches(*open_seeded(config, {}, 2), 1));
}

TEST(DataPosition, OtherDataAreRefused) {
  TempFolder folder;
  const auto configs = every_kind(folder);
  for (std::size_t i = 0; i < configs.size(); ++i)
    for (std::size_t j = 0; j < configs.size(); ++j)
      if (i != j)
        EXPECT_ERROR(input, "the training data are not those of the checkpoint",
                     open_seeded(configs[i])
                         ->set_state(open_seeded(configs[j])->state()));
  // The same file with one character changed; another seed splits lines anew.
  const std::string lines = open_seeded(configs[0])->state();
  const std::string text = open_seeded(configs[1])->state();
  EXPECT_ERROR(input, "not those of the checkpoint",
               open_seeded(configs[0], {}, 2)->set_state(lines));
  std::string content = test::read_bytes(folder / "x");
  content[content.size() - 2] ^= 1;
  write_bytes(folder / "x", content);
  EXPECT_ERROR(input, "not those of the checkpoint",
               open_seeded(configs[0])->set_state(lines));
  EXPECT_ERROR(input, "not those of the checkpoint",
               open_seeded(configs[1])->set_state(text));
}

TEST(DataPosition, ADamagedStateIsRefused) {
  DataConfig config;
  config.task = "sort";
  const auto d = open_seeded(config);
  const std::string state = d->state();
  EXPECT_ERROR(input, "not valid JSON",
               d->set_state(state.substr(0, state.size() - 1)));
  EXPECT_ERROR(input, "must hold 'data' and 'rng'", d->set_state("{}"));
  EXPECT_ERROR(input, "must hold 'data' and 'rng'", d->set_state("[]"));
  std::string bad = state;
  bad.replace(bad.find('['), 1, "[-1,");
  EXPECT_ERROR(input, "numbers of 32 bits", d->set_state(bad));
  bad = state.substr(0, state.find('[')) + "[1,2,3]}";
  EXPECT_THROW(d->set_state(bad), Error);
  EXPECT_EQ(d->state(), state);  // a refused state changed nothing
}

TEST(DataPosition, ADataSetThatWasNotStartedSaysSo) {
  DataConfig config;
  config.task = "sort";
  TorchRng rng(1);
  const auto d = open(config, {}, rng);
  EXPECT_ERROR(input, "was not started", d->next(1));
  EXPECT_ERROR(input, "was not started", d->state());
}

TEST(DataSteadyState, ABatchAllocatesNothing) {
  TempFolder folder;
  for (const DataConfig& config : every_kind(folder)) {
    const auto d = open_seeded(config);
    for (int i = 0; i < 20; ++i) d->next(32);
    const auto before = test::allocations();
    for (int i = 0; i < 20; ++i) d->next(32);
    const auto used = test::allocations() - before;
    EXPECT_TRUE(used.news == 0 && used.misses == 0) << d->describe() << used;
  }
}

}  // namespace
}  // namespace qkv::data
