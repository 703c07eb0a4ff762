#include "cli/parity.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "cli/command.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/train_setup.h"
#include "core/check.h"
#include "core/fields_json.h"
#include "core/json.h"
#include "qkv/autograd.h"
#include "qkv/ops.h"
#include "qkv/rng.h"
#include "qkv/train.h"

namespace qkv::cli {
namespace {

namespace fs = std::filesystem;
using data::Split;

// One training with a preset's settings.
struct Setting {
  std::string_view preset;
  std::int64_t seed = -1, steps = -1;          // -1: the preset's
  std::string_view model = "{}", data = "{}";  // fields over the preset's

  bool operator==(const Setting&) const = default;
};

// The losses of a training's own batches, from step 0.
struct StepLosses final : TrainObserver {
  std::vector<double> losses;
  void on_step(const TrainStep& e) override { losses.push_back(e.loss); }
};

// The data sets as they are published.
struct PublishedFile {
  std::string_view name;
  std::uintmax_t bytes;
};
constexpr std::array<PublishedFile, 2> kFiles{
    {{"names.txt", 228145}, {"tinyshakespeare.txt", 1115394}}};

class Course {
 public:
  explicit Course(std::string folder) : folder_(std::move(folder)) {}

  // Where the file lies; empty where it is missing, which is said once.
  std::string file(const std::string& name) {
    std::string path = (fs::path(folder_) / name).string();
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    if (!error) {
      const auto known = std::find_if(kFiles.begin(), kFiles.end(),
                                      [&](auto& f) { return f.name == name; });
      if (known != kFiles.end() && bytes != known->bytes)
        fail_input("{}: {} bytes, but the published one has {}; use that one",
                   path, bytes, known->bytes);
      return path;
    }
    if (missing_.insert(name).second)
      note(fmt::format("{} is missing: what needs it is left out", path));
    return "";
  }

  // The model of a setting, trained on the file; kept, since several numbers
  // are of the same.
  Trainer& trained(const Setting& s, const std::string& path) {
    if (trainer_ && last_ == s) return *trainer_;
    RunConfig config;
    const Preset& published = preset(s.preset);
    config.model = apply_preset(published, config.train);
    set(published.data, [&](FieldVisitor& v) { visit_fields(v, config.data); });
    set(s.data, [&](FieldVisitor& v) { visit_fields(v, config.data); });
    set(s.model, [&](FieldVisitor& v) { config.model->visit(v); });
    (path.ends_with("names.txt") ? config.data.lines : config.data.text) = path;
    if (s.seed >= 0) config.train.seed = s.seed;
    if (s.steps >= 0) config.train.steps = s.steps;
    config.train.eval_every = 0;
    config.train.eval_batches = 1;
    RunParts parts = open_run(config, false);
    trainer_ = std::make_unique<Trainer>(std::move(parts.model),
                                         std::move(parts.dataset), config.train,
                                         "", parts.data_info);
    steps_.losses.clear();
    trainer_->add(steps_);
    trainer_->run({.interrupted = [] { return caught_signal() != 0; }});
    last_ = s;
    return *trainer_;
  }

  double step_loss(const Setting& s, const std::string& path,
                   std::size_t step) {
    trained(s, path);
    return step < steps_.losses.size() ? steps_.losses[step] : std::nan("");
  }

  double loss(const Setting& s, const std::string& path, Split split) {
    Trainer& trainer = trained(s, path);
    return measure_loss(trainer.model(), trainer.dataset(), split, 64, 0).mean;
  }

 private:
  static void set(std::string_view fields, VisitConfig visit) {
    fields_from_json(parse_json(fields, "setting"), visit, "setting");
  }

  std::string folder_;
  std::set<std::string> missing_;
  std::unique_ptr<Trainer> trainer_;
  StepLosses steps_;  // of trainer_, a training of last_
  Setting last_;
};

// A published number and how it is measured.
struct Number {
  std::string what;
  std::string file;
  double published = 0, tolerance = 0;
  int digits = 4;
  std::function<double(Course&, const std::string& path)> measure;
};

Number split_loss(std::string what, std::string file, double published,
                  double tolerance, Setting s, Split split, int digits = 4) {
  return {std::move(what),
          std::move(file),
          published,
          tolerance,
          digits,
          [s, split](Course& course, const std::string& path) {
            return course.loss(s, path, split);
          }};
}

// The validation loss after 5000 steps, the mean of three seeds: one seed
// strays by as much as some differences allow.
Number mean_loss(std::string_view preset, const std::string& file,
                 double published, double tolerance) {
  const Setting s{.preset = preset};
  return {fmt::format("{}, 5000 steps, 3 seeds", preset),
          file,
          published,
          tolerance,
          4,
          [s](Course& course, const std::string& path) {
            double sum = 0;
            for (std::int64_t seed : {1, 2, 3}) {
              Setting one = s;
              one.seed = seed;
              sum += course.loss(one, path, Split::validation);
            }
            return sum / 3;
          }};
}

// A loss of the training itself.
struct StepLoss {
  std::size_t step;
  double loss;
};

Number step_loss(std::string_view what, const StepLoss& published,
                 const Setting& s, double tolerance = 1e-4, int digits = 6) {
  return {fmt::format("{}, loss at step {}", what, published.step),
          "names.txt",
          published.loss,
          tolerance,
          digits,
          [s, step = published.step](Course& course, const std::string& path) {
            return course.step_loss(s, path, step);
          }};
}

// A name of the model, drawn character by character as the bigram lecture does.
std::string draw_name(LanguageModel& model, const Tokenizer& tokenizer,
                      TorchRng& rng) {
  const NoGrad no_grad;
  std::vector<std::int64_t> name, last{*tokenizer.start_token()};
  while (name.empty() || name.back() != *tokenizer.stop_token()) {
    Context context;
    const Tensor p = softmax(
        model.logits(Tensor::from<std::int64_t>({1, 1}, last), context));
    name.push_back(rng.multinomial(p.data<float>(), p.numel()));
    last = {name.back()};
  }
  return tokenizer.decode(name);
}

// How many of the names that the bigram lecture draws come out.
Number sampled_names(const Setting& counts) {
  static constexpr std::array<std::string_view, 5> kNames{
      "cexze", "momasurailezitynn", "konimittain", "llayn", "ka"};
  return {"bigram lecture's sampled names",
          "names.txt",
          kNames.size(),
          0,
          0,
          [counts](Course& course, const std::string& path) {
            Trainer& trainer = course.trained(counts, path);
            const Tokenizer& tokenizer = trainer.dataset().tokenizer();
            TorchRng rng(2147483647);
            int equal = 0;
            for (const std::string_view name : kNames)
              equal += draw_name(trainer.model(), tokenizer, rng) == name;
            return static_cast<double>(equal);
          }};
}

std::vector<Number> published() {
  const Setting mlp{.preset = "lecture-mlp"},
      norm{.preset = "lecture-batchnorm"};
  const Setting wavenet{.preset = "lecture-wavenet"};
  const Setting counts{.preset = "makemore-counts",
                       .data = R"({"validation_fraction": 0})"};
  Setting unsmoothed = counts;
  unsmoothed.model = R"({"smoothing": 0})";
  std::vector<Number> all;
  const auto add = [&](Number number) { all.push_back(std::move(number)); };
  add(split_loss("pairs counted, all names", "names.txt", 2.4540, 5e-5,
                 unsmoothed, Split::train));
  add(split_loss("the same, one added to each", "names.txt", 2.4546, 5e-5,
                 counts, Split::train));
  add(sampled_names(counts));
  for (const StepLoss& loss : std::initializer_list<StepLoss>{
           {0, 3.3179007}, {1, 3.2341597}, {9, 3.0488553}, {99, 2.6632526}})
    add(step_loss("lecture MLP", loss, mlp));
  add(split_loss("lecture MLP, train", "names.txt", 2.037664, 5e-4, mlp,
                 Split::train, 6));
  add(split_loss("lecture MLP, dev", "names.txt", 2.106990, 5e-4, mlp,
                 Split::validation, 6));
  for (const StepLoss& loss : std::initializer_list<StepLoss>{
           {0, 3.3238626}, {1, 3.2736192}, {9, 3.0949147}, {99, 2.5489874}})
    add(step_loss("lecture BatchNorm", loss, norm));
  add(split_loss("lecture BatchNorm, train", "names.txt", 2.067415, 5e-4, norm,
                 Split::train, 6));
  add(split_loss("lecture BatchNorm, dev", "names.txt", 2.105684, 5e-4, norm,
                 Split::validation, 6));
  add(split_loss("lecture WaveNet, train", "names.txt", 1.769, 0.005, wavenet,
                 Split::train));
  add(split_loss("lecture WaveNet, dev", "names.txt", 1.993, 0.005, wavenet,
                 Split::validation));
  const Setting makemore{.preset = "makemore", .seed = 3407, .steps = 101};
  for (const StepLoss& loss : std::initializer_list<StepLoss>{{0, 3.5123},
                                                              {10, 2.8783},
                                                              {20, 2.7156},
                                                              {30, 2.5582},
                                                              {40, 2.4769},
                                                              {50, 2.5487},
                                                              {60, 2.4465},
                                                              {70, 2.4591},
                                                              {80, 2.3582},
                                                              {90, 2.3096},
                                                              {100, 2.5206}})
    add(step_loss("makemore, seed 3407", loss, makemore, 2e-4, 4));
  for (const auto& [name, loss] :
       std::vector<std::pair<std::string_view, double>>{
           {"makemore-bigram", 2.510},
           {"makemore-bow", 2.236},
           {"makemore-rnn", 2.131},
           {"makemore-mlp", 2.109},
           {"makemore-gru", 2.098},
           {"makemore", 2.038}})
    add(mean_loss(name, "names.txt", loss, 0.015));
  for (const auto& [name, loss] :
       std::vector<std::pair<std::string_view, double>>{
           {"video-head", 2.40},
           {"video-heads", 2.28},
           {"video-feed-forward", 2.24},
           {"video-residual", 2.08},
           {"video-norm", 2.06}})
    add(mean_loss(name, "tinyshakespeare.txt", loss, 0.03));
  return all;
}

void print_heading() {
  fmt::print("{:<38}{:>12}{:>12}{:>12}{:>10}\n", "number", "published",
             "measured", "difference", "allowed");
}

}  // namespace

int print_parity(const std::string& folder, bool json) {
  if (folder.empty())
    fail_input(
        "--parity needs --data DIR: the folder of names.txt and "
        "tinyshakespeare.txt");
  catch_signals();
  Course course(folder);
  const std::vector<Number> numbers = published();
  // What is missing is said before hours are spent on the rest.
  for (const Number& number : numbers) course.file(number.file);
  bool all_within = true, any = false;
  for (const Number& number : numbers) {
    const std::string path = course.file(number.file);
    if (path.empty()) continue;
    if (!any && !json) print_heading();
    any = true;
    const double measured = number.measure(course, path);
    if (caught_signal() != 0) return 128 + caught_signal();
    const double difference = measured - number.published;
    const bool within = std::abs(difference) <= number.tolerance;
    all_within = all_within && within;
    if (json)
      fmt::print("{}\n", json_line(nlohmann::ordered_json{
                             {"number", number.what},
                             {"published", number.published},
                             {"measured", measured},
                             {"tolerance", number.tolerance},
                             {"within", within}}));
    else
      fmt::print("{:<38}{:>12.{}f}{:>12.{}f}{:>+12.{}f}{:>10}{}\n", number.what,
                 number.published, number.digits, measured, number.digits,
                 difference, number.digits,
                 fmt::format("{:g}", number.tolerance),
                 within ? "" : "  OUTSIDE");
    flush_output();
  }
  if (!any)
    fail_input("{}: it holds neither names.txt nor tinyshakespeare.txt",
               folder);
  return all_within ? kDone : kNumeric;
}

}  // namespace qkv::cli
