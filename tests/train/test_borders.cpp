// What optimisers, schedules, data and logs refuse, and what they just accept: each condition is
// broken alone. The answers are in tests/golden/said/.
#include <limits>

#include "gradus/base/random.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/outcomes.h"
#include "gradus/train/data.h"
#include "gradus/train/ema.h"
#include "gradus/train/groups.h"
#include "gradus/train/loop.h"
#include "gradus/train/metrics.h"
#include "gradus/train/muon.h"
#include "gradus/train/progress.h"
#include "gradus/train/schedule.h"

namespace gradus::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInf = std::numeric_limits<double>::infinity();

using Named = std::vector<nn::NamedTensor>;

std::string names(const Named& all) {
  std::string text;
  for (const nn::NamedTensor& each : all) text += each.name + " ";
  return text;
}

std::string text(const std::vector<optim::Group>& groups) {
  std::string out;
  for (const optim::Group& each : groups)
    out += str_cat(names(each.parameters), each.lr, " ", each.weight_decay, "; ");
  return out;
}

}  // namespace

TEST_CASE("borders of optimisers") {
  using optim::Adam;
  using optim::AdamW;
  using optim::EMA;
  using optim::Lion;
  using optim::Muon;
  using optim::SGD;
  using Groups = std::vector<optim::Group>;
  const Tensor x = nn::parameter(ones({2, 3}));
  const Named p = {{"x", x}}, bias = {{"bias", nn::parameter(ones({3}))}}, none;
  const Named twice = {{"x", x}, {"y", x}}, plain = {{"x", ones({2})}}, missing = {{"x", {}}},
              derived = {{"x", x * 2}};
  check_outcomes(
      "optimisers",
      {GRADUS_CALL(SGD(p, {.lr = -0.1})),
       GRADUS_CALL(SGD(p, {.lr = 0})),
       GRADUS_CALL(SGD(p, {.lr = kNaN})),
       GRADUS_CALL(SGD(p, {.lr = kInf})),
       GRADUS_CALL(SGD(p, {.weight_decay = -0.1})),
       GRADUS_CALL(SGD(p, {.weight_decay = kInf})),
       GRADUS_CALL(SGD(p, {.weight_decay = kNaN})),
       GRADUS_CALL(SGD(Groups{{p, 0.1, 0.1}}, {.lr = kNaN})),
       GRADUS_CALL(SGD(Groups{{p, 0.1, 0.1}}, {.weight_decay = -1})),
       GRADUS_CALL(SGD(Groups{{p, kInf, 0.1}})),
       GRADUS_CALL(SGD(Groups{{p, 0.1, kInf}})),
       GRADUS_CALL(SGD(Groups{{p, 0, 0}})),
       GRADUS_CALL(SGD(p, {.momentum = -0.1})),
       GRADUS_CALL(SGD(p, {.momentum = 0})),
       GRADUS_CALL(SGD(p, {.momentum = 1})),
       GRADUS_CALL(SGD(p, {.momentum = kNaN})),
       GRADUS_CALL(SGD(p, {.nesterov = true})),
       GRADUS_CALL(SGD(p, {.momentum = 0.1, .nesterov = true})),
       GRADUS_CALL(SGD(none)),
       GRADUS_CALL(SGD(twice)),
       GRADUS_CALL(SGD(plain)),
       GRADUS_CALL(SGD(missing)),
       GRADUS_CALL(SGD(derived)),
       GRADUS_CALL(SGD(Groups{{p}, {p}})),
       GRADUS_CALL(SGD(Groups{{none}, {p}})),
       GRADUS_CALL(Adam(p, {.betas = {-0.1, 0.9}})),
       GRADUS_CALL(Adam(p, {.betas = {0.9, -0.1}})),
       GRADUS_CALL(Adam(p, {.betas = {1, 0.9}})),
       GRADUS_CALL(Adam(p, {.betas = {0.9, 1}})),
       GRADUS_CALL(Adam(p, {.betas = {0, 0}})),
       GRADUS_CALL(Adam(p, {.betas = {0.9, kNaN}})),
       GRADUS_CALL(Adam(p, {.eps = 0})),
       GRADUS_CALL(Adam(p, {.eps = -1})),
       GRADUS_CALL(AdamW(p, {.lr = -1})),
       GRADUS_CALL(Lion(p, {.betas = {1, 0.9}})),
       GRADUS_CALL(Lion(p, {.betas = {0.9, -1}})),
       GRADUS_CALL(Lion(p, {.lr = kNaN})),
       GRADUS_CALL(Muon({bias}, {p})),
       GRADUS_CALL(Muon({p}, {bias}, {.momentum = -0.1})),
       GRADUS_CALL(Muon({p}, {bias}, {.momentum = 0})),
       GRADUS_CALL(Muon({p}, {bias}, {.momentum = 1})),
       GRADUS_CALL(Muon({p}, {bias}, {.momentum = kNaN})),
       GRADUS_CALL(Muon({p}, {})),
       GRADUS_CALL(Muon({}, {})),
       GRADUS_CALL(optim::newton_schulz(ones({3}))),
       GRADUS_CALL(optim::newton_schulz(ones({1, 1, 1}))),
       GRADUS_CALL(EMA(p, -0.1)),
       GRADUS_CALL(EMA(p, 0)),
       GRADUS_CALL(EMA(p, 1)),
       GRADUS_CALL(EMA(p, kNaN)),
       GRADUS_CALL(EMA(none)),
       GRADUS_CALL(optim::clip_grad_value(p, 0)),
       GRADUS_CALL(optim::clip_grad_value(p, -1)),
       GRADUS_CALL(optim::clip_grad_value(p, kNaN)),
       GRADUS_CALL(optim::clip_grad_value(p, 1e-9)),
       GRADUS_CALL(SGD(p).set_learning_rate(-1)),
       GRADUS_CALL(SGD(p).set_learning_rate(kInf)),
       GRADUS_CALL(SGD(p).set_learning_rate(0)),
       GRADUS_CALL(SGD(p).load_state_dict({})),
       GRADUS_CALL(SGD(p).load_state_dict({{"step", ones({})}})),
       GRADUS_CALL(SGD(p).load_state_dict({{"step", zeros({1}, Dtype::i64)}})),
       GRADUS_CALL(SGD(p).load_state_dict({{"step", zeros({}, Dtype::i64)}, {"x", x}})),
       GRADUS_CALL(SGD(p).load_state_dict({{"step", zeros({}, Dtype::i64)}})),
       GRADUS_CALL(EMA(p).load_state_dict({{"x", x}})),
       GRADUS_CALL(
           EMA(p).load_state_dict({{"x", x}, {"updates", zeros({}, Dtype::i64)}, {"y", x}})),
       GRADUS_CALL(EMA(p).load_state_dict({{"x", x}, {"updates", zeros({}, Dtype::i64)}}))});
}

TEST_CASE("Muon keeps the average of its gradients as they are") {
  Tensor x = nn::parameter(zeros({2, 2}));
  optim::Muon muon({{{"x", x}}}, {}, {.momentum = 0.75});
  x.set_grad(full({2, 2}, 8));
  muon.step();
  CHECK(muon.state_dict().at("momentum_buffer.x").to_vector<float>() ==
        std::vector<float>(4, 2.0F));
  muon.step();
  CHECK(muon.state_dict().at("momentum_buffer.x").to_vector<float>() ==
        std::vector<float>(4, 3.5F));
}

TEST_CASE("patterns, and the groups that they make") {
  nn::Linear model(2, 3);
  const Tensor x = nn::parameter(ones({2}));
  const Named all = {
      {"encoder.weight", x}, {"encoder.bias", x}, {"decoder.weight", x}, {"head", x}, {"", x}};
  using optim::groups;
  using optim::matches;
  const auto found = [&](const std::string& pattern) {
    return names(optim::matching(all, pattern));
  };
  const auto several = optim::decay_matrices_only({{"m", ones({1, 1})}, {"b", ones({1})}}, 0.1);
  check_outcomes("patterns",
                 {GRADUS_VALUE(matches("", "")),
                  GRADUS_VALUE(matches("*", "")),
                  GRADUS_VALUE(matches("", "a")),
                  GRADUS_VALUE(matches("a*", "a")),
                  GRADUS_VALUE(matches("*a", "ba")),
                  GRADUS_VALUE(matches("a*c", "abcbc")),
                  GRADUS_VALUE(matches("a*c", "abcb")),
                  GRADUS_VALUE(matches("**", "x")),
                  GRADUS_VALUE(matches("ab", "abc")),
                  GRADUS_VALUE(matches("abc", "ab")),
                  GRADUS_VALUE(found("*")),
                  GRADUS_VALUE(found("encoder.*")),
                  GRADUS_VALUE(found("*.weight")),
                  GRADUS_VALUE(found("")),
                  GRADUS_VALUE(found("encodr.weight")),
                  GRADUS_VALUE(found("haed")),
                  GRADUS_VALUE(found("decoder")),
                  GRADUS_VALUE(found("bias")),
                  GRADUS_VALUE(found("decoder.bias")),
                  GRADUS_VALUE(found("*x")),
                  GRADUS_VALUE(names(optim::matching({{"a", x}}, "b"))),
                  GRADUS_VALUE(names(optim::matching({}, "b"))),
                  GRADUS_VALUE(text(groups(all, {}))),
                  GRADUS_VALUE(text(groups(all, {{"*.bias", -1, 0}}))),
                  GRADUS_VALUE(text(groups(all, {{"encoder.*", 1e-4}, {"*.weight", 0.1, 0.2}}))),
                  GRADUS_VALUE(text(groups(all, {{"*", 1e-4}, {"*.weight", 0.1, 0.2}}))),
                  GRADUS_VALUE(text(groups(all, {{"body*", 1e-4}}))),
                  GRADUS_VALUE(text(several)),
                  GRADUS_CALL(optim::freeze(model, "bia*")),
                  GRADUS_VALUE(model.bias.requires_grad()),
                  GRADUS_VALUE(model.weight.requires_grad()),
                  GRADUS_CALL(optim::freeze(model, "bias", false)),
                  GRADUS_VALUE(model.bias.requires_grad()),
                  GRADUS_CALL(optim::freeze(model, "none"))});
}

TEST_CASE("borders and values of schedules and times") {
  using optim::noam;
  using optim::warmup_cosine;
  using optim::warmup_linear;
  const auto decay = [](std::int64_t warmup, std::int64_t decay, std::int64_t total,
                        double floor = 0) {
    return optim::warmup_stable_decay(warmup, decay, total, floor);
  };
  check_outcomes("schedules", {GRADUS_CALL(warmup_cosine(-1, 5, 0)),
                               GRADUS_CALL(warmup_cosine(5, 5, 0)),
                               GRADUS_VALUE(warmup_cosine(4, 5, 0)(3)),
                               GRADUS_VALUE(warmup_cosine(0, 1, 0)(0)),
                               GRADUS_CALL(warmup_cosine(0, 5, -0.1)),
                               GRADUS_CALL(warmup_cosine(0, 5, 1.1)),
                               GRADUS_CALL(warmup_cosine(0, 5, kNaN)),
                               GRADUS_VALUE(warmup_cosine(0, 5, 1)(3)),
                               GRADUS_VALUE(warmup_cosine(3, 10, 0.1)(2)),
                               GRADUS_VALUE(warmup_cosine(3, 10, 0.1)(3)),
                               GRADUS_VALUE(warmup_cosine(3, 10, 0.1)(4)),
                               GRADUS_VALUE(warmup_cosine(3, 10, 0.1)(9)),
                               GRADUS_VALUE(warmup_cosine(3, 10, 0.1)(12)),
                               GRADUS_CALL(warmup_linear(5, 5, 0)),
                               GRADUS_CALL(warmup_linear(1, 5, 2)),
                               GRADUS_VALUE(warmup_linear(3, 10, 0.1)(0)),
                               GRADUS_VALUE(warmup_linear(3, 10, 0.1)(3)),
                               GRADUS_VALUE(warmup_linear(3, 10, 0.1)(8)),
                               GRADUS_VALUE(warmup_linear(3, 10, 0.1)(99)),
                               GRADUS_CALL(decay(2, 0, 5)),
                               GRADUS_CALL(decay(2, -1, 5)),
                               GRADUS_CALL(decay(2, 4, 5)),
                               GRADUS_CALL(decay(2, 3, 2)),
                               GRADUS_VALUE(decay(2, 3, 5)(2)),
                               GRADUS_VALUE(decay(2, 3, 7, 0.2)(3)),
                               GRADUS_VALUE(decay(2, 3, 7, 0.2)(4)),
                               GRADUS_VALUE(decay(2, 3, 7, 0.2)(5)),
                               GRADUS_VALUE(decay(2, 3, 7, 0.2)(7)),
                               GRADUS_VALUE(decay(2, 3, 7, 0.2)(0)),
                               GRADUS_CALL(noam(0, 1)),
                               GRADUS_CALL(noam(1, 0)),
                               GRADUS_VALUE(noam(1, 1)(0)),
                               GRADUS_VALUE(noam(64, 10)(0)),
                               GRADUS_VALUE(noam(64, 10)(9)),
                               GRADUS_VALUE(noam(64, 10)(30)),
                               GRADUS_VALUE(optim::constant_schedule()(7)),
                               GRADUS_VALUE(clock_time(-1)),
                               GRADUS_VALUE(clock_time(59.4)),
                               GRADUS_VALUE(clock_time(59.6)),
                               GRADUS_VALUE(clock_time(3599)),
                               GRADUS_VALUE(clock_time(3600)),
                               GRADUS_VALUE(clock_time(35999)),
                               GRADUS_VALUE(clock_time(1e9)),
                               GRADUS_VALUE(clock_time(1e12)),
                               GRADUS_VALUE(clock_time(kInf))});
}

TEST_CASE("borders of batches") {
  const Tensor none, one = ones({}), x = ones({3, 1}), y = ones({3}), longer = ones({4});
  using Pairs = std::vector<std::pair<Sequence, Sequence>>;
  const std::vector<std::int64_t> tokens = {1, 2, 3, 4};
  /// Of the windows of a text of n tokens, two side by side.
  const auto lengths = [](std::int64_t n) {
    std::string out;
    for (const Batch& each :
         TokenBatches(std::vector<std::int64_t>(std::size_t(n), 7), 1 + n / 5, 2, 0).once())
      out += str_cat(each.x.shape(), each.y.shape(), " ");
    return out;
  };
  const auto joined = [](const std::vector<std::int64_t>& all) {
    std::string out;
    for (const std::int64_t each : all) out += str_cat(each, " ");
    return out;
  };
  check_outcomes("batches", {GRADUS_CALL(batches(none, y, 1, 0)),
                             GRADUS_CALL(batches(x, none, 1, 0)),
                             GRADUS_CALL(batches(one, y, 1, 0)),
                             GRADUS_CALL(batches(x, one, 1, 0)),
                             GRADUS_CALL(batches(x, longer, 1, 0)),
                             GRADUS_CALL(batches(x, y, 0, 0)),
                             GRADUS_CALL(batches(x, y, -1, 0)),
                             GRADUS_VALUE(batches(x, y, 1, 0).size()),
                             GRADUS_VALUE(batches(x, y, 2, 0).size()),
                             GRADUS_VALUE(batches(x, y, 3, 0).size()),
                             GRADUS_CALL(TokenBatches(tokens, 0, 1, 0)),
                             GRADUS_CALL(TokenBatches(tokens, 1, 0, 0)),
                             GRADUS_CALL(TokenBatches(tokens, 4, 1, 0)),
                             GRADUS_VALUE(TokenBatches(tokens, 3, 1, 0).size()),
                             GRADUS_VALUE(lengths(2)),
                             GRADUS_VALUE(lengths(3)),
                             GRADUS_VALUE(lengths(4)),
                             GRADUS_VALUE(lengths(5)),
                             GRADUS_VALUE(lengths(9)),
                             GRADUS_VALUE(lengths(10)),
                             GRADUS_CALL(LengthBuckets({}, 1, 0)),
                             GRADUS_CALL(LengthBuckets({1}, 0, 0)),
                             GRADUS_CALL(LengthBuckets({1}, 1, 0, 0)),
                             GRADUS_VALUE(LengthBuckets({1}, 1, 0, 1).batches_per_pass()),
                             GRADUS_VALUE(LengthBuckets({1, 2, 3}, 2, 0).batches_per_pass()),
                             GRADUS_CALL(LengthBuckets({1}, 1, 0).at(-1)),
                             GRADUS_VALUE(joined(LengthBuckets({1}, 1, 0).at(0))),
                             GRADUS_VALUE(joined(LengthBuckets({1}, 1, 0).at(5))),
                             GRADUS_CALL(PairBatches(Pairs{{{1}, {2}}, {{}, {2}}}, 1, 0)),
                             GRADUS_CALL(PairBatches(Pairs{}, 1, 0)),
                             GRADUS_CALL(PairBatches(Pairs{{{1}, {}}}, 0, 0)),
                             GRADUS_VALUE(PairBatches(Pairs{{{1}, {}}}, 1, 0).at(0).tokens)});
}

TEST_CASE("buckets of sequences that are equally long keep the shuffled order") {
  const std::vector<std::int64_t> lengths = {3, 1, 3, 3, 2, 1, 3, 2, 3, 1, 1};
  const LengthBuckets buckets(lengths, 3, 17, 2);
  for (std::int64_t pass = 0; pass < 3; ++pass) {
    Generator own(17);
    own.restore(17, static_cast<std::uint32_t>(2 * pass));
    const GeneratorScope scope(own);
    std::vector<std::int64_t> order = randperm(11).to_vector<std::int64_t>();
    const auto places = randperm(4).to_vector<std::int64_t>();
    for (const std::int64_t begin : {0, 6})  // two batches are sorted at a time, by insertion
      for (std::int64_t i = begin; i < std::min<std::int64_t>(begin + 6, 11); ++i)
        for (std::int64_t k = i; k > begin; --k) {
          auto &left = order[std::size_t(k - 1)], &right = order[std::size_t(k)];
          if (lengths[std::size_t(right)] < lengths[std::size_t(left)]) std::swap(left, right);
        }
    for (std::int64_t i = 0; i < 4; ++i) {
      const std::int64_t first = 3 * places[std::size_t(i)];
      const std::vector<std::int64_t> want(order.begin() + first,
                                           order.begin() + std::min<std::int64_t>(11, first + 3));
      CHECK(buckets.at(4 * pass + i) == want);
    }
  }
}

TEST_CASE("borders of a trainer's options") {
  nn::Linear net(2, 1);
  optim::SGD optimizer(net.parameters());
  const auto made = [&](void (*change)(TrainOptions&)) {
    TrainOptions options;
    options.directory = "d";
    change(options);
    return Trainer(net, optimizer, optim::constant_schedule(), std::move(options)).step();
  };
  const auto timed = [&](double seconds, std::int64_t most = 5) {
    return Pace({seconds, 0, most}, 5, 5, {}).steps();
  };
  const RunFiles files{"run"};
  check_outcomes("trainer", {GRADUS_VALUE(made([](TrainOptions& o) { o.directory = ""; })),
                             GRADUS_VALUE(made([](TrainOptions& o) { o.steps = 0; })),
                             GRADUS_VALUE(made([](TrainOptions& o) { o.steps = -1; })),
                             GRADUS_VALUE(made([](TrainOptions& o) { o.steps = 1; })),
                             GRADUS_VALUE(made([](TrainOptions& o) { o.eval_every = 0; })),
                             GRADUS_VALUE(made([](TrainOptions& o) { o.eval_every = 1; })),
                             GRADUS_VALUE(made([](TrainOptions& o) { o.clip_norm = -0.1; })),
                             GRADUS_VALUE(made([](TrainOptions& o) { o.clip_norm = 0; })),
                             GRADUS_VALUE(made([](TrainOptions& o) { o.clip_norm = kNaN; })),
                             GRADUS_VALUE(made([](TrainOptions& o) { o.clip_value = -0.1; })),
                             GRADUS_VALUE(made([](TrainOptions& o) { o.clip_value = kNaN; })),
                             GRADUS_VALUE(made([](TrainOptions& o) { o.shards = 0; })),
                             GRADUS_VALUE(made([](TrainOptions& o) { o.shards = 1; })),
                             GRADUS_VALUE(made([](TrainOptions& o) { o.patience = -1; })),
                             GRADUS_VALUE(made([](TrainOptions& o) { o.patience = 1; })),
                             GRADUS_VALUE(made([](TrainOptions& o) {
                               o.time.seconds = 0.5;
                               o.patience = 1;
                             })),
                             GRADUS_VALUE(made([](TrainOptions& o) { o.time.seconds = 0.5; })),
                             GRADUS_VALUE(timed(-0.1)),
                             GRADUS_VALUE(timed(0)),
                             GRADUS_VALUE(timed(kInf)),
                             GRADUS_VALUE(timed(kNaN)),
                             GRADUS_VALUE(timed(1, 0)),
                             GRADUS_VALUE(timed(1, 1)),
                             GRADUS_VALUE(files.all()[0]),
                             GRADUS_VALUE(files.all()[1]),
                             GRADUS_VALUE(files.all()[2]),
                             GRADUS_VALUE(files.all()[3]),
                             GRADUS_VALUE(files.all().size())});
}

TEST_CASE("borders of metrics") {
  const Folder here;
  const auto read = [&](const std::string& lines) {
    write_bytes(here / "lines", lines);
    std::string out;
    for (const auto& [step, value] : read_metric(here / "lines", "loss"))
      out += str_cat(step, ":", value, " ");
    return out;
  };
  const auto masked = [&](const char* text) {
    return value_of(text, [&, text] {
      try {
        return read(text);
      } catch (const FileError& error) {
        const std::string said = error.what();
        return said.substr(said.find("lines"));
      }
    });
  };
  check_outcomes("metrics", {masked(""), masked("{\"step\": 1, \"loss\": 2.5}\n"),
                             masked("{\"step\": 1, \"loss\": 2.5}"), masked("{\"step\": 1}\n"),
                             masked("{\"loss\": 1}\n"), masked("{\"step\": null, \"loss\": 3}\n"),
                             masked("{\"step\": 1, \"loss\": null}\n{\"step\": 2, \"loss\": -1}\n"),
                             masked("{\"step\": 1, \"loss\": x}\n"), masked("{\"step\": 1\n"),
                             masked("\"step\": 1}\n"), masked("\n"),
                             masked("{\"step\": 1, \"held_out_loss\": 2}\n")});
}

}  // namespace gradus::testing
