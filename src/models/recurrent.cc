// RNN, GRU and LSTM: all that was read is carried in one vector, rewritten at
// every token by a cell. The cells are makemore's, with its parameter names.
#include "models/context_model.h"
#include "nn/linear_in.h"

namespace qkv {
namespace {

// Of the model that is named for its cell.
template <class CellType>
struct RecurrentConfig {
  static constexpr std::string_view kind = CellType::kind;
  std::int64_t vocab_size = 0;
  std::int64_t block_size = 64;
  std::int64_t n_embd = 64;
  std::int64_t n_hidden = 64;
};

template <class Visitor, class CellType>
void visit_fields(Visitor&& visit, RecurrentConfig<CellType>& c) {
  visit_sequence(visit, c);
  visit(c.n_embd, Field{"n_embd", "width of an embedding", 1, kMost});
  visit(c.n_hidden, Field{"n_hidden", "width of the hidden state", 1, kMost});
}

// One linear of [x, h] taken apart, so that all tokens' x are multiplied at
// once: W [x, h] + b = (W_x x + b) + W_h h.
class Gate : public nn::Linear {
 public:
  Gate(std::int64_t width, std::int64_t hidden)
      : Linear(width + hidden, hidden), width_(width) {}
  Tensor of_input() const { return contiguous(slice(weight, 1, 0, width_)); }
  Tensor of_state() const {
    return contiguous(slice(weight, 1, width_, weight.dim(1)));
  }

 private:
  std::int64_t width_;
};

// What is carried, (B,H) each: the hidden state and, of an LSTM, the cell.
using Carried = std::vector<Tensor>;

// A cell made ready for one pass: its weights taken apart once.
struct Pass {
  virtual ~Pass() = default;
  // t-th tokens (of all that the pass was made with) and what was carried ->
  // what is carried on; the first of it is the output.
  virtual Carried step(std::int64_t t, const Carried& before) const = 0;
};

struct Cell : nn::Module {
  virtual int carried() const { return 1; }
  virtual std::int64_t gates() const = 0;
  // x (T,B,E).
  virtual std::unique_ptr<Pass> begin(const Tensor& x,
                                      const Context& context) const = 0;
};

Tensor at(const Tensor& x, std::int64_t t) {
  return reshape(slice(x, 0, t, t + 1), {x.dim(1), x.dim(2)});
}

// The gate of a pass: its inputs' part for all tokens, the rest at each step.
struct OpenGate {
  OpenGate(const Gate& gate, const Tensor& x, const Context& c)
      : from_input(nn::linear_in(c, x.dim(0), x, gate.of_input(), gate.bias)),
        of_state(gate.of_state()),
        context(c) {}
  Tensor operator()(std::int64_t t, const Tensor& h) const {
    return add(at(from_input, t), nn::linear_in(context, 1, h, of_state, {}));
  }

  Tensor from_input, of_state;
  const Context& context;
};

// h' = tanh(W [x, h] + b).
struct RnnCell final : Cell {
  static constexpr std::string_view kind = "rnn";

  RnnCell(std::int64_t width, std::int64_t hidden) : xh_to_h(width, hidden) {
    add_module("xh_to_h", xh_to_h);
  }
  std::int64_t gates() const override { return 1; }
  std::unique_ptr<Pass> begin(const Tensor& x,
                              const Context& context) const override {
    struct Rnn final : Pass {
      Rnn(const RnnCell& cell, const Tensor& x, const Context& c)
          : to_h(cell.xh_to_h, x, c) {}
      Carried step(std::int64_t t, const Carried& before) const override {
        return {tanh(to_h(t, before[0]))};
      }
      OpenGate to_h;
    };
    return std::make_unique<Rnn>(*this, x, context);
  }
  Gate xh_to_h;
};

// z how much is rewritten, r how much of the state the candidate sees:
// h' = (1 - z) h + z tanh(W [x, r h] + b).
struct GruCell final : Cell {
  static constexpr std::string_view kind = "gru";

  GruCell(std::int64_t width, std::int64_t hidden)
      : xh_to_z(width, hidden),
        xh_to_r(width, hidden),
        xh_to_hbar(width, hidden) {
    add_module("xh_to_z", xh_to_z);
    add_module("xh_to_r", xh_to_r);
    add_module("xh_to_hbar", xh_to_hbar);
  }
  std::int64_t gates() const override { return 3; }
  std::unique_ptr<Pass> begin(const Tensor& x,
                              const Context& context) const override {
    struct Gru final : Pass {
      Gru(const GruCell& cell, const Tensor& x, const Context& c)
          : to_z(cell.xh_to_z, x, c),
            to_r(cell.xh_to_r, x, c),
            to_hbar(cell.xh_to_hbar, x, c) {}
      Carried step(std::int64_t t, const Carried& before) const override {
        const Tensor& h = before[0];
        const Tensor z = sigmoid(to_z(t, h)), r = sigmoid(to_r(t, h));
        const Tensor candidate = tanh(to_hbar(t, mul(r, h)));
        return {add(h, mul(z, add(candidate, scale(h, -1))))};
      }
      OpenGate to_z, to_r, to_hbar;
    };
    return std::make_unique<Gru>(*this, x, context);
  }
  Gate xh_to_z, xh_to_r, xh_to_hbar;
};

// i what is taken in, f what is kept, o what is shown, g what is offered:
// c' = f c + i g, h' = o tanh(c') (Hochreiter & Schmidhuber 1997; Gers 2000).
struct LstmCell final : Cell {
  static constexpr std::string_view kind = "lstm";

  LstmCell(std::int64_t width, std::int64_t hidden)
      : xh_to_i(width, hidden),
        xh_to_f(width, hidden),
        xh_to_o(width, hidden),
        xh_to_g(width, hidden) {
    add_module("xh_to_i", xh_to_i);
    add_module("xh_to_f", xh_to_f);
    add_module("xh_to_o", xh_to_o);
    add_module("xh_to_g", xh_to_g);
  }
  int carried() const override { return 2; }
  std::int64_t gates() const override { return 4; }
  std::unique_ptr<Pass> begin(const Tensor& x,
                              const Context& context) const override {
    struct Lstm final : Pass {
      Lstm(const LstmCell& cell, const Tensor& x, const Context& c)
          : to_i(cell.xh_to_i, x, c),
            to_f(cell.xh_to_f, x, c),
            to_o(cell.xh_to_o, x, c),
            to_g(cell.xh_to_g, x, c) {}
      Carried step(std::int64_t t, const Carried& before) const override {
        const Tensor &h = before[0], &c = before[1];
        const Tensor i = sigmoid(to_i(t, h)), f = sigmoid(to_f(t, h));
        const Tensor o = sigmoid(to_o(t, h)), g = tanh(to_g(t, h));
        const Tensor cell = add(mul(f, c), mul(i, g));
        return {mul(o, tanh(cell)), cell};
      }
      OpenGate to_i, to_f, to_o, to_g;
    };
    return std::make_unique<Lstm>(*this, x, context);
  }
  Gate xh_to_i, xh_to_f, xh_to_o, xh_to_g;
};

// What each slot carries from call to call, and how far it came.
class RecurrentState final : public DecodeState {
 public:
  RecurrentState(int slots, int parts, std::int64_t hidden, DType dtype)
      : lengths_(slots, 0) {
    for (int i = 0; i < parts; ++i)
      kept_.push_back(Tensor::zeros({slots, hidden}, dtype));
  }
  int slots() const override { return static_cast<int>(lengths_.size()); }
  std::int64_t length(int slot) const override { return lengths_.at(slot); }
  void clear(int slot) override { lengths_.at(slot) = 0; }

  // (1,H) of a slot, for the part given.
  Tensor kept(int slot, int part) const {
    return slice(kept_[part], 0, slot, slot + 1);
  }
  void keep(int slot, int part, const Tensor& row) {
    slice(kept_[part], 0, slot, slot + 1).copy_from(row);
  }
  void advance(int slot, std::int64_t tokens) { lengths_[slot] += tokens; }

 private:
  std::vector<Tensor> kept_;
  std::vector<std::int64_t> lengths_;
};

template <class CellType>
class Recurrent final
    : public ContextModel<RecurrentConfig<CellType>, Recurrent<CellType>> {
  using Config = RecurrentConfig<CellType>;
  using Base = ContextModel<Config, Recurrent>;

 public:
  explicit Recurrent(const Config& config)
      : Base(config),
        wte_(config.vocab_size, config.n_embd),
        cell_(config.n_embd, config.n_hidden),
        lm_head_(config.n_hidden, config.vocab_size) {
    static constexpr const char* names[] = {"start", "start_cell"};
    for (int i = 0; i < cell_.carried(); ++i)
      start_.push_back(
          this->add_parameter(names[i], Tensor::zeros({1, config.n_hidden})));
    this->add_module("wte", wte_);
    this->add_module("cell", cell_);
    this->add_module("lm_head", lm_head_);
    this->set_head(lm_head_);
  }

  Tensor logits(const Tensor& given, Context& context) override {
    const Tensor ids =
        checked_ids(CellType::kind, given, this->config_.block_size);
    return this->forward(ids, ids.dim(1), context);
  }
  std::unique_ptr<DecodeState> new_state(int slots) override {
    return std::make_unique<RecurrentState>(
        slots, cell_.carried(), this->config_.n_hidden, wte_.weight.dtype());
  }
  std::int64_t matmul_parameters() const override {
    const Config& c = this->config_;
    return cell_.gates() * (c.n_embd + c.n_hidden) * c.n_hidden +
           c.n_hidden * c.vocab_size;
  }

 protected:
  Tensor trunk(const Tensor& ids, std::int64_t count,
               Context& context) override {
    const std::int64_t batch = ids.dim(0), length = ids.dim(1);
    RecurrentState* state = nullptr;
    if (context.state) {
      state = dynamic_cast<RecurrentState*>(context.state);
      if (!state)
        fail_input("[{}] the decode state is another model's", CellType::kind);
      if (batch != std::ssize(state->active))
        fail_input("[{}] {} rows of ids for {} active slots", CellType::kind,
                   batch, state->active.size());
    }
    Carried carried = before(state, batch);
    // Time first: what is one step lies together.
    const Tensor x = wte_.forward(contiguous(transpose(ids, 0, 1)));
    const auto pass = cell_.begin(x, context);
    std::vector<Tensor> outputs;
    for (std::int64_t t = 0; t < length; ++t) {
      carried = pass->step(t, carried);
      outputs.push_back(
          reshape(carried[0], {1, batch, this->config_.n_hidden}));
    }
    if (state)
      for (std::int64_t row = 0; row < batch; ++row) {
        const int slot = state->active[row];
        for (int part = 0; part < cell_.carried(); ++part)
          state->keep(slot, part, slice(carried[part], 0, row, row + 1));
        state->advance(slot, length);
      }
    outputs.erase(outputs.begin(), outputs.end() - count);
    return transpose(concat(outputs, 0), 0, 1);
  }

 private:
  // What each row begins with: the learned start, or what its slot carries.
  Carried before(const RecurrentState* state, std::int64_t batch) const {
    Carried carried;
    for (int part = 0; part < cell_.carried(); ++part) {
      std::vector<Tensor> rows;
      for (std::int64_t row = 0; row < batch; ++row) {
        const int slot = state ? state->active[row] : 0;
        rows.push_back(state && state->length(slot) > 0
                           ? state->kept(slot, part)
                           : start_[part]);
      }
      carried.push_back(concat(rows, 0));
    }
    return carried;
  }

  nn::Embedding wte_;
  CellType cell_;
  nn::Linear lm_head_;
  std::vector<Tensor> start_;
};

const RegisterModel kRnn(Recurrent<RnnCell>::described(
    "recurrent network: one vector, rewritten at every token"));
const RegisterModel kGru(Recurrent<GruCell>::described(
    "recurrent network with gates for what is rewritten"));
const RegisterModel kLstm(Recurrent<LstmCell>::described(
    "recurrent network with a memory cell that gates keep"));

}  // namespace
}  // namespace qkv
