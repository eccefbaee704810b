// speedrun ROW --text FILE: trains a small language model until its held-out loss is at most that
// of the row. README.md has the rules. bench/run_speedrun.py measures the time.
//
// The model is a GPT of the library's blocks, plus tables for pairs and triples of characters.
#include <csignal>
#include <map>
#include <memory>
#include <set>

#include "gradus/bench/program.h"
#include "gradus/gradus.h"

namespace gradus::bench {
namespace {

using Ids = std::vector<std::int64_t>;

struct Row {
  std::int64_t layers, heads, width, context, window;  // window: tokens that a query attends to
  std::int64_t triples;  // rows of the table of triples; 0: no tables of pairs and triples
  std::int64_t batch, steps, evaluations;
  double matrix_rate, other_rate, momentum, dropout;
};
const std::map<std::string, Row> kRows = {
    {"A",
     {.layers = 2,
      .heads = 4,
      .width = 128,
      .context = 64,
      .window = 32,
      .triples = 8192,
      .batch = 12,
      .steps = 130,
      .evaluations = 1,
      .matrix_rate = 0.03,
      .other_rate = 6e-3,
      .momentum = 0.85,
      .dropout = 0}},
    {"B",
     {.layers = 5,
      .heads = 4,
      .width = 192,
      .context = 256,
      .window = 256,
      .triples = 0,
      .batch = 16,
      .steps = 1800,
      .evaluations = 6,
      .matrix_rate = 0.02,
      .other_rate = 3e-3,
      .momentum = 0.95,
      .dropout = 0.1}},
};
const std::vector<std::string> kTricks = {"muon",   "pairs",  "triples",
                                          "rotary", "window", "qk_norm"};

struct Flags {
  std::string row, text, out;
  std::uint64_t seed = 1;
  std::int64_t steps = 0;  // 0: steps of the row
  bool tune = false;
  std::set<std::string> without;

  bool uses(const std::string& trick) const { return without.count(trick) == 0; }
};

/// Returns the row `hash(the last n tokens)` of a table, for each token. Tokens before the text
/// count as 0. If `rows` ≥ vocab^n, no two combinations share a row.
Tensor rows_of_last(std::int64_t n, const Tensor& ids, std::int64_t vocab, std::int64_t rows) {
  const std::int64_t B = ids.size(0), T = ids.size(1);
  const Ids all = ids.to_vector<std::int64_t>();
  Ids out;
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t t = 0; t < T; ++t) {
      std::uint64_t key = 0;
      for (std::int64_t i = t - n + 1; i <= t; ++i)
        key = key * static_cast<std::uint64_t>(vocab) +
              static_cast<std::uint64_t>(i < 0 ? 0 : all[static_cast<std::size_t>(b * T + i)]);
      if (n > 2) key = (key * 0x9E3779B97F4A7C15u) >> 32;  // Fibonacci hashing, Knuth 6.4
      out.push_back(static_cast<std::int64_t>(key % static_cast<std::uint64_t>(rows)));
    }
  return tensor(out, {B, T});
}

nn::BlockOptions block_options(const Row& row, const Flags& flags) {
  nn::HeadOptions head;
  if (flags.uses("rotary")) head.position = nn::HeadPosition::rotary;
  if (flags.uses("qk_norm")) head.qk_norm = 1e-6;
  return {.width = row.width,
          .heads = row.heads,
          .dropout = row.dropout,
          .bias = false,
          .norm_kind = nn::NormKind::rms,
          .head = head};
}

struct Model : nn::Layer<Model> {
  Model(const Row& row, const Flags& flags, std::int64_t vocab)
      : token(vocab, row.width), norm(row.width, nn::NormKind::rms), dropout(row.dropout) {
    nn::init::normal_(token.weight, 0, 0.1);
    if (row.triples > 0 && flags.uses("pairs")) pairs = zero_table(vocab * vocab, row.width);
    if (row.triples > 0 && flags.uses("triples")) triples = zero_table(row.triples, row.width);
    if (!flags.uses("rotary")) {
      position = nn::Embedding(row.context, row.width);
      nn::init::normal_(position.weight, 0, 0.02);
    }
    mask = flags.uses("window") ? causal_mask() & window_mask(row.window - 1) : causal_mask();
    for (std::int64_t i = 0; i < row.layers; ++i) {
      nn::Block& block = blocks.emplace_back(block_options(row, flags));
      for (nn::Linear* into : {&block.attention.qkv_proj, &block.feed_forward.up})
        nn::init::normal_(into->weight, 0, 0.02);
      for (nn::Linear* back : {&block.attention.out_proj, &block.feed_forward.down})
        nn::init::normal_(back->weight, 0, 0.01);
    }
  }
  static nn::Embedding zero_table(std::int64_t rows, std::int64_t width) {
    nn::Embedding table(rows, width);
    nn::init::zeros_(table.weight);
    return table;
  }

  Tensor forward(const Tensor& ids) const {  // i64 [B, T]
    const std::int64_t V = token.weight.size(0);
    Tensor x = token(ids);  // [B, T, C]
    if (has(pairs)) x = x + pairs(rows_of_last(2, ids, V, V * V));
    if (has(triples)) x = x + triples(rows_of_last(3, ids, V, triples.weight.size(0)));
    if (has(position)) x = x + position(arange(ids.size(1)));
    x = dropout(x);
    for (const nn::Block& block : blocks) x = block(x, mask);
    return token.project(norm(x));  // [B, T, V]
  }
  nn::Members members() override {
    return {{"token", token},
            {"pairs", pairs, has(pairs)},
            {"triples", triples, has(triples)},
            {"position", position, has(position)},
            {"blocks", blocks},
            {"norm", norm},
            {"dropout", dropout}};
  }
  static bool has(const nn::Embedding& table) { return table.weight.defined(); }

  nn::Embedding token, pairs, triples, position;  // unused tables are undefined
  std::vector<nn::Block> blocks;
  nn::Norm norm;
  nn::Dropout dropout;
  Mask mask;
};

/// Returns the mean nats per token over all `windows`.
double mean_loss(const Model& model, const std::vector<train::Batch>& windows) {
  double total = 0, tokens = 0;
  for (const train::Batch& batch : windows) {
    const auto count = static_cast<double>(batch.y.numel());
    total += cross_entropy(model(batch.x), batch.y).item() * count;
    tokens += count;
  }
  return total / tokens;
}

std::unique_ptr<optim::Optimizer> make_optimizer(Model& model, const Row& row, const Flags& flags) {
  const optim::AdamOptions adam{.lr = row.other_rate, .betas = {0.9, 0.95}};
  if (!flags.uses("muon"))
    return std::make_unique<optim::AdamW>(
        model.parameters(),
        optim::AdamWOptions{.lr = 3e-3, .betas = {0.9, 0.95}, .weight_decay = 0});
  auto [matrices, others] =
      optim::muon_groups(model.parameters(), {"token*,position*,pairs*,triples*"});
  return std::make_unique<optim::Muon>(
      std::move(matrices), std::move(others),
      optim::MuonOptions{.lr = row.matrix_rate, .momentum = row.momentum, .adam = adam});
}

volatile std::sig_atomic_t interrupted = 0;

void run(const Flags& flags) {
  const Row& row = kRows.at(flags.row);
  const std::int64_t steps = flags.steps > 0 ? flags.steps : row.steps;
  const std::string text = io::read_text(flags.text);
  const io::CharTokenizer characters(text);
  const Ids ids = characters.encode(text);
  auto end_of_text = ids.end(), cut = end_of_text - std::ssize(ids) / 10;  // held out from `cut`
  if (flags.tune) {
    end_of_text = cut;
    cut -= (cut - ids.begin()) / 20;
  }

  seed(flags.seed);
  Model model(row, flags, characters.vocab_size());
  const auto optimizer = make_optimizer(model, row, flags);
  const train::TokenBatches batches({ids.begin(), cut}, row.context, row.batch, flags.seed);
  // With rotary positions and a window, a model can read texts longer than those of training.
  const bool longer = flags.uses("rotary") && flags.uses("window") && row.window < row.context;
  const train::TokenBatches held_out({cut, end_of_text}, longer ? 2 * row.context : row.context, 32,
                                     0);
  const std::vector<train::Batch> windows = held_out.once();

  train::TrainOptions options;
  options.directory = flags.out;
  options.steps = steps;
  options.eval_every = (steps + row.evaluations - 1) / row.evaluations;
  options.items_per_step = row.batch * row.context;
  options.item = "token";
  options.loss_unit = "nats per character";
  options.program = "speedrun";
  options.stop = &interrupted;
  train::Trainer trainer(model, *optimizer, optim::warmup_linear(10, steps), options);
  if (train::holds_run({flags.out}))
    trainer.resume();
  else
    trainer.start();
  const train::TrainEnd end = trainer.run(
      [&](std::int64_t i) {
        const auto [x, y] = batches.at(i);
        return cross_entropy(model(x), y);
      },
      [&] {
        return train::Metrics{{"held_out_loss", mean_loss(model, windows)}};
      });
  require(end != train::TrainEnd::interrupted,
          "interrupted. Run the same command again to continue the run in ", flags.out, ".");
  std::printf(
      "{\"row\": \"%s\", \"seed\": %llu, \"steps\": %lld, \"parameters\": %lld, "
      "\"characters_scored\": %lld, \"held_out\": %.4f}\n",
      flags.row.c_str(), static_cast<unsigned long long>(flags.seed), static_cast<long long>(steps),
      static_cast<long long>(model.parameter_count()), static_cast<long long>(held_out.size() - 1),
      trainer.best());
}

}  // namespace
}  // namespace gradus::bench

int main(int argc, char** argv) {
  using namespace gradus::bench;
  Flags flags;
  CLI::App app("Trains a character model to a row's held-out loss.");
  std::set<std::string> rows;
  for (const auto& [name, row] : kRows) rows.insert(name);
  app.add_option("row", flags.row)->required()->check(CLI::IsMember(rows));
  app.add_option("--text", flags.text, "training text")->required();
  app.add_option("--out", flags.out, "directory of the run; continues an existing run")->required();
  app.add_option("--seed", flags.seed)->capture_default_str();
  app.add_option("--steps", flags.steps, "number of steps (default: that of the row)")
      ->check(CLI::PositiveNumber);
  app.add_flag("--tune", flags.tune,
               "hold out and score the last 5 % of the training part, to choose settings");
  app.add_option("--without", flags.without, "disable a trick; may be repeated")
      ->check(CLI::IsMember(kTricks));
  std::signal(SIGINT, [](int) { interrupted = 1; });
  return program(app, "speedrun", argc, argv, [&] { run(flags); });
}
