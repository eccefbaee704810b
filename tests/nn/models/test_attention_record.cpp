#include "gradus/engine/base/memory.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/nn/attention_record.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/members.h"
#include "gradus/tests/nn/models/tiny_models.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {

TEST_CASE("an attention record stores the weights of every attention layer") {
  const nn::GPT model = made(tiny());
  const Tensor ids = ids_of(2, 5), plain = model(ids);
  nn::AttentionRecord record;
  check_equal(model(ids), plain);
  REQUIRE(record.entries().size() == 2);
  CHECK(record.entries()[1].layer == "blocks.1.attention");
  const Tensor weights = record.weights("blocks.0.attention");
  CHECK(weights.shape() == Shape{2, 4, 5, 5});
  const auto w = numbers(weights);
  for (std::size_t row = 0; row < w.size() / 5; ++row) {
    double sum = 0;
    for (std::size_t j = 0; j < 5; ++j) sum += w[row * 5 + j];
    CHECK(std::abs(sum - 1) < 1e-14);  // allows for five rounding errors
    for (std::size_t j = row % 5 + 1; j < 5; ++j) CHECK(w[row * 5 + j] == 0);
  }
  CHECK_REFUSES(ValueError, record.weights("blocks.2.attention"), "\"blocks.0.attention\"",
                "\"blocks.1.attention\"");
  {
    nn::AttentionRecord inner;
    model(ids);
    CHECK(inner.entries().size() == 2);
    CHECK(record.entries().size() == 2);
  }
  model(ids);
  CHECK(record.entries().size() == 4);  // the entries were replaced, not extended
  record.clear();
  CHECK_REFUSES(ValueError, record.weights("x"), "none");
}

TEST_CASE("the mean entropy averages over all layers, heads and queries") {
  const nn::GPT model = made(tiny());
  const nn::AttentionRecord record;
  model(ids_of(2, 5)), model(ids_of(1, 7));  // the record averages over both runs
  double mean = 0;
  for (const nn::AttentionRecord::Entry& each : record.entries()) {
    double sum = 0;
    for (const double p : numbers(each.weights)) sum -= p > 0 ? p * std::log(p) : 0;
    const double queries = double(each.weights.numel() / each.weights.size(3));
    mean += sum / queries / double(record.entries().size());
  }
  check_equal(record.mean_entropy(), tensor(std::vector<double>{mean}, {}));
}

TEST_CASE("a loss on the mean entropy raises the entropy") {
  nn::GPT model = made(tiny());
  const Tensor ids = ids_of(2, 8);
  const auto entropy = [&] {
    nn::AttentionRecord record;
    model(ids);
    return record.mean_entropy();
  };
  const double before = entropy().item();
  for (int step = 0; step < 5; ++step) {
    model.zero_grad();
    (entropy() * -1.0).backward();
    const NoGrad off;
    for (const nn::NamedTensor& each : model.parameters()) {
      Tensor p = each.tensor;
      if (p.grad().defined()) p.copy_(p - p.grad() * 0.3);
    }
  }
  CHECK(entropy().item() > before + 0.01);
}

TEST_CASE("a record reports entropy, span and largest weight of each head") {
  nn::MultiHeadAttention layer({.width = 4, .heads = 2});
  for (const nn::NamedTensor& each : layer.parameters()) {
    const NoGrad off;
    Tensor p = each.tensor;
    p.fill_(0);  // equal scores, so attention is uniform
  }
  nn::AttentionRecord record;
  layer(zeros({3, 4, 4}), causal_mask());
  const std::vector<nn::AttentionRecord::Head> heads = record.heads();
  REQUIRE(heads.size() == 2);
  CHECK(heads[1].head == 1);
  // A query that attends equally to n keys has entropy log n, mean distance (n − 1) / 2 and maximum
  // 1 / n, here for n = 1 to 4. 1e-6 allows ten f32 rounding errors.
  CHECK(std::abs(heads[1].entropy - std::log(24.0) / 4) < 1e-6);
  CHECK(std::abs(heads[1].span - 0.75) < 1e-6);
  CHECK(std::abs(heads[1].maximum - (1 + 0.5 + 1 / 3.0 + 0.25) / 4) < 1e-6);
  nn::AttentionRecord two_queries;  // maxima 0.5 and 0.6
  two_queries.add(tensor(std::vector<double>{0.2, 0.3, 0.5, 0.6, 0.4, 0}, {1, 1, 2, 3}));
  CHECK(std::abs(two_queries.heads()[0].maximum - 0.55) < 1e-15);
}

TEST_CASE("checkpointed blocks compute the same gradients, even with dropout, in less memory") {
  nn::GPTOptions options = tiny();
  options.layers = 6, options.block.dropout = 0.2, options.context = 64;
  options.window = GENERATE(0, 5);
  nn::GPT model = made(options);
  model.train();
  const Tensor ids = ids_of(4, 64), targets = ids_of(4, 64, 1);
  const auto step = [&](bool checkpoint) {
    model.options.checkpoint = checkpoint;
    model.zero_grad();
    seed(3);
    memory::reset_peak();
    const std::int64_t before = memory::usage().live_bytes;
    model.loss(ids, targets).backward();
    return memory::usage().peak_bytes - before;
  };
  const std::int64_t all = step(false);
  std::vector<Tensor> wanted;
  for (const nn::NamedTensor& each : model.parameters())
    wanted.push_back(each.tensor.grad().clone());
  const std::int64_t few = step(true);
  CHECK(few < all / 2);
  std::size_t i = 0;
  for (const nn::NamedTensor& each : model.parameters())
    check_equal(each.tensor.grad(), wanted[i++]);
}

}  // namespace gradus::testing
