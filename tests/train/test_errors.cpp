#include <limits>

#include "gradus/nn/linear.h"
#include "gradus/nn/pattern.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/train/data.h"
#include "gradus/train/optim/ema.h"
#include "gradus/train/optim/muon.h"
#include "gradus/train/optim/schedule.h"
#include "gradus/train/progress.h"
#include "gradus/train/trainer.h"

namespace gradus::testing::test_errors {
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

TEST_CASE("optimizers accept exactly the documented arguments") {
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
  CHECK_REFUSES(ValueError, SGD(p, {.lr = -0.1}), "optimizer", "-0.1");
  CHECK_NOTHROW(SGD(p, {.lr = 0}));
  CHECK_REFUSES(ValueError, SGD(p, {.lr = kNaN}), "optimizer", "nan");
  CHECK_REFUSES(ValueError, SGD(p, {.lr = kInf}), "optimizer", "inf");
  CHECK_REFUSES(ValueError, SGD(p, {.weight_decay = -0.1}), "optimizer", "-0.1");
  CHECK_REFUSES(ValueError, SGD(p, {.weight_decay = kInf}), "optimizer", "inf");
  CHECK_REFUSES(ValueError, SGD(p, {.weight_decay = kNaN}), "optimizer", "nan");
  CHECK_REFUSES(ValueError, SGD(Groups{{p, 0.1, 0.1}}, {.lr = kNaN}), "optimizer", "nan");
  CHECK_REFUSES(ValueError, SGD(Groups{{p, 0.1, 0.1}}, {.weight_decay = -1}), "optimizer", "-1");
  CHECK_REFUSES(ValueError, SGD(Groups{{p, kInf, 0.1}}), "inf", "parameter");
  CHECK_REFUSES(ValueError, SGD(Groups{{p, 0.1, kInf}}), "inf", "parameter");
  CHECK_NOTHROW(SGD(Groups{{p, 0, 0}}));
  CHECK_REFUSES(ValueError, SGD(p, {.momentum = -0.1}), "SGD", "-0.1");
  CHECK_NOTHROW(SGD(p, {.momentum = 0}));
  CHECK_REFUSES(ValueError, SGD(p, {.momentum = 1}), "SGD", "1");
  CHECK_REFUSES(ValueError, SGD(p, {.momentum = kNaN}), "SGD", "nan");
  CHECK_REFUSES(ValueError, SGD(p, {.nesterov = true}), "SGD", "0");
  CHECK_NOTHROW(SGD(p, {.momentum = 0.1, .nesterov = true}));
  CHECK_REFUSES(ValueError, SGD(none), "optimizer", "parameters");
  CHECK_REFUSES(GraphError, SGD(twice), "optimizer", "parameter");
  CHECK_REFUSES(GraphError, SGD(plain), "optimizer", "parameters");
  CHECK_REFUSES(GraphError, SGD(missing), "optimizer", "parameters");
  CHECK_REFUSES(GraphError, SGD(derived), "optimizer", "parameters");
  CHECK_REFUSES(GraphError, SGD(Groups{{p}, {p}}), "optimizer", "parameter");
  CHECK_NOTHROW(SGD(Groups{{none}, {p}}));
  CHECK_REFUSES(ValueError, Adam(p, {.betas = {-0.1, 0.9}}), "Adam", "-0.1");
  CHECK_REFUSES(ValueError, Adam(p, {.betas = {0.9, -0.1}}), "Adam", "-0.1");
  CHECK_REFUSES(ValueError, Adam(p, {.betas = {0.9, 1}}), "Adam", "0.9");
  CHECK_NOTHROW(Adam(p, {.betas = {0, 0}}));
  CHECK_REFUSES(ValueError, Adam(p, {.betas = {0.9, kNaN}}), "Adam", "nan");
  CHECK_REFUSES(ValueError, Adam(p, {.eps = 0}), "Adam", "0");
  CHECK_REFUSES(ValueError, Adam(p, {.eps = -1}), "Adam", "-1");
  CHECK_REFUSES(ValueError, Lion(p, {.betas = {1, 0.9}}), "Lion", "1");
  CHECK_REFUSES(ValueError, Lion(p, {.betas = {0.9, -1}}), "Lion", "-1");
  CHECK_REFUSES(ShapeError, Muon({bias}, {p}), "Muon", "[3]");
  CHECK_REFUSES(ValueError, Muon({p}, {bias}, {.momentum = -0.1}), "Muon", "-0.1");
  CHECK_NOTHROW(Muon({p}, {bias}, {.momentum = 0}));
  CHECK_REFUSES(ValueError, Muon({p}, {bias}, {.momentum = 1}), "Muon", "1");
  CHECK_REFUSES(ValueError, Muon({p}, {bias}, {.momentum = kNaN}), "Muon", "nan");
  CHECK_REFUSES(ValueError, Muon({p}, {bias}, {.adam = {.betas = {0.9, 1}}}), "Muon", "betas");
  CHECK_REFUSES(ValueError, Muon({p}, {bias}, {.adam = {.eps = 0}}), "Muon", "eps");
  CHECK_NOTHROW(Muon({p}, {}));
  CHECK_REFUSES(ValueError, Muon({}, {}), "optimizer", "parameters");
  CHECK_REFUSES(ShapeError, optim::newton_schulz(ones({3})), "newton_schulz", "[3]");
  CHECK_REFUSES(ShapeError, optim::newton_schulz(ones({1, 1, 1})), "newton_schulz", "[1, 1, 1]");
  CHECK_REFUSES(ShapeError, optim::mud(ones({3})), "mud", "[3]");
  CHECK_REFUSES(ValueError, EMA(p, -0.1), "EMA", "-0.1");
  CHECK_NOTHROW(EMA(p, 0));
  CHECK_REFUSES(ValueError, EMA(p, 1), "EMA", "1");
  CHECK_REFUSES(ValueError, EMA(p, kNaN), "EMA", "nan");
  CHECK_REFUSES(ValueError, EMA(none), "EMA", "parameters");
  CHECK_REFUSES(ValueError, optim::clip_grad_value(p, 0), "clip_grad_value", "0");
  CHECK_REFUSES(ValueError, optim::clip_grad_value(p, -1), "clip_grad_value", "-1");
  CHECK_REFUSES(ValueError, optim::clip_grad_value(p, kNaN), "clip_grad_value", "nan");
  CHECK_NOTHROW(optim::clip_grad_value(p, 1e-9));
  CHECK_REFUSES(ValueError, SGD(p).set_learning_rate(-1), "optimizer", "-1");
  CHECK_REFUSES(ValueError, SGD(p).set_learning_rate(kInf), "optimizer", "inf");
  CHECK_NOTHROW(SGD(p).set_learning_rate(0));
  CHECK_REFUSES(ShapeError, SGD(p).load_state_dict({}), "[]", "optimizer");
  CHECK_REFUSES(ShapeError, SGD(p).load_state_dict({{"step", ones({})}}), "[]", "optimizer");
  CHECK_REFUSES(ShapeError, SGD(p).load_state_dict({{"step", zeros({1}, Dtype::i64)}}), "[]",
                "optimizer");
  CHECK_REFUSES(ShapeError, SGD(p).load_state_dict({{"step", zeros({}, Dtype::i64)}, {"x", x}}),
                "optimizer");
  CHECK_NOTHROW(SGD(p).load_state_dict({{"step", zeros({}, Dtype::i64)}}));
  CHECK_REFUSES(ShapeError, EMA(p).load_state_dict({{"x", x}}), "[]", "updates");
  CHECK_REFUSES(ShapeError,
                EMA(p).load_state_dict({{"x", x}, {"updates", zeros({}, Dtype::i64)}, {"y", x}}),
                "state");
  CHECK_NOTHROW(EMA(p).load_state_dict({{"x", x}, {"updates", zeros({}, Dtype::i64)}}));
}

TEST_CASE("patterns select parameters and form groups") {
  nn::Linear model(2, 3);
  const Tensor x = nn::parameter(ones({2}));
  const Named all = {
      {"encoder.weight", x}, {"encoder.bias", x}, {"decoder.weight", x}, {"head", x}, {"", x}};
  using nn::matches;
  using optim::groups;
  const auto found = [&](const std::string& pattern) { return names(nn::matching(all, pattern)); };
  const auto several = optim::no_decay_on_1d({{"m", ones({1, 1})}, {"b", ones({1})}}, 0.1);
  CHECK(matches("", "") == 1);
  CHECK(matches("*", "") == 1);
  CHECK(matches("", "a") == 0);
  CHECK(matches("a*", "a") == 1);
  CHECK(matches("*a", "ba") == 1);
  CHECK(matches("a*c", "abcbc") == 1);
  CHECK(matches("a*c", "abcb") == 0);
  CHECK(matches("**", "x") == 1);
  CHECK(matches("ab", "abc") == 0);
  CHECK(matches("abc", "ab") == 0);
  CHECK(matches("a*,b", "b") == 1);
  CHECK(matches("a*,b", "ac") == 1);
  CHECK(matches("a,b", "a,b") == 0);
  CHECK(found("*") == "encoder.weight encoder.bias decoder.weight head  ");
  CHECK(found("encoder.*") == "encoder.weight encoder.bias ");
  CHECK(found("*.weight") == "encoder.weight decoder.weight ");
  CHECK(found("") == " ");
  CHECK(found("head,*.bias") == "encoder.bias head ");
  CHECK_REFUSES(ValueError, found("encodr.weight"), "\"encodr.weight\"", "parameters");
  CHECK_REFUSES(ValueError, found("haed"), "\"haed\"", "parameters");
  CHECK_REFUSES(ValueError, found("decoder"), "\"decoder\"", "parameters");
  CHECK_REFUSES(ValueError, found("bias"), "\"bias\"", "parameters");
  CHECK_REFUSES(ValueError, found("decoder.bias"), "\"decoder.bias\"", "parameters");
  CHECK_REFUSES(ValueError, found("*x"), "\"*x\"", "parameters");
  CHECK_REFUSES(ValueError, names(nn::matching({{"a", x}}, "b")), "\"b\"", "parameters");
  CHECK_REFUSES(ValueError, names(nn::matching({}, "b")), "\"b\"", "parameters");
  CHECK(text(groups(all, {})) == "encoder.weight encoder.bias decoder.weight head  -1 -1; ");
  CHECK(text(groups(all, {{"*.bias", -1, 0}})) ==
        "encoder.bias -1 0; encoder.weight decoder.weight head  -1 -1; ");
  CHECK(text(groups(all, {{"encoder.*", 1e-4}, {"*.weight", 0.1, 0.2}})) ==
        "encoder.weight encoder.bias 0.0001 -1; decoder.weight 0.1 0.2; head  -1 -1; ");
  CHECK(text(groups(all, {{"*", 1e-4}, {"*.weight", 0.1, 0.2}})) ==
        "encoder.weight encoder.bias decoder.weight head  0.0001 -1; 0.1 0.2; -1 -1; ");
  CHECK_REFUSES(ValueError, text(groups(all, {{"body*", 1e-4}})), "\"body*\"", "parameters");
  CHECK(text(several) == "m -1 0.1; b -1 0; ");
  CHECK_NOTHROW(nn::freeze(model, "bia*"));
  CHECK(model.bias.requires_grad() == 0);
  CHECK(model.weight.requires_grad() == 1);
  CHECK_NOTHROW(nn::freeze(model, "bias", false));
  CHECK(model.bias.requires_grad() == 1);
  CHECK_REFUSES(ValueError, nn::freeze(model, "none"), "\"none\"", "parameters");
}

TEST_CASE("schedules and times accept exactly the documented arguments") {
  using optim::noam;
  using optim::warmup_cosine;
  using optim::warmup_linear;
  const auto decay = [](std::int64_t warmup, std::int64_t decay, std::int64_t total,
                        double floor = 0) {
    return optim::warmup_stable_decay(warmup, decay, total, floor);
  };
  CHECK_REFUSES(ValueError, warmup_cosine(-1, 5, 0), "warmup_cosine", "-1");
  CHECK_REFUSES(ValueError, warmup_cosine(5, 5, 0), "warmup_cosine", "5");
  CHECK(warmup_cosine(4, 5, 0)(3) == 1);
  CHECK(warmup_cosine(0, 1, 0)(0) == 1);
  CHECK_REFUSES(ValueError, warmup_cosine(0, 5, -0.1), "warmup_cosine", "-0.1");
  CHECK_REFUSES(ValueError, warmup_cosine(0, 5, 1.1), "warmup_cosine", "1.1");
  CHECK_REFUSES(ValueError, warmup_cosine(0, 5, kNaN), "warmup_cosine", "nan");
  CHECK_REFUSES(ValueError, warmup_linear(5, 5, 0), "warmup_linear", "5");
  CHECK_REFUSES(ValueError, warmup_linear(1, 5, 2), "warmup_linear", "2");
  CHECK_REFUSES(ValueError, decay(2, 0, 5), "warmup_stable_decay", "0");
  CHECK_REFUSES(ValueError, decay(2, -1, 5), "warmup_stable_decay", "-1");
  CHECK_REFUSES(ValueError, decay(2, 4, 5), "warmup_stable_decay", "4");
  CHECK_REFUSES(ValueError, decay(2, 3, 2), "warmup_stable_decay", "2");
  CHECK_REFUSES(ValueError, noam(0, 1), "noam", "0");
  CHECK_REFUSES(ValueError, noam(1, 0), "noam", "1");
  CHECK(optim::constant_schedule()(7) == 1);
  CHECK(train::clock_time(-1) == "0:00");
  CHECK(train::clock_time(1e9) == "277777:46:40");
  CHECK(train::clock_time(1e12) == "277777:46:40");
  CHECK(train::clock_time(kInf) == "277777:46:40");
}

TEST_CASE("batches accept exactly the documented arguments") {
  const Tensor none, one = ones({}), x = ones({3, 1}), y = ones({3}), longer = ones({4});
  using Pairs = std::vector<std::pair<train::Sequence, train::Sequence>>;
  const std::vector<std::int64_t> tokens = {1, 2, 3, 4};
  const auto lengths = [](std::int64_t n) {
    std::string out;
    for (const train::Batch& each :
         train::TokenBatches(std::vector<std::int64_t>(std::size_t(n), 7), 1 + n / 5, 2, 0).once())
      out += str_cat(each.x.shape(), each.y.shape(), " ");
    return out;
  };
  const auto joined = [](const std::vector<std::int64_t>& all) {
    std::string out;
    for (const std::int64_t each : all) out += str_cat(each, " ");
    return out;
  };
  CHECK_REFUSES(ValueError, train::batches(none, y, 1, 0), "batches", "axis");
  CHECK_REFUSES(ValueError, train::batches(x, none, 1, 0), "batches", "axis");
  CHECK_REFUSES(ValueError, train::batches(one, y, 1, 0), "batches", "axis");
  CHECK_REFUSES(ValueError, train::batches(x, one, 1, 0), "batches", "axis");
  CHECK_REFUSES(ShapeError, train::batches(x, longer, 1, 0), "batches", "[3, 1]");
  CHECK_REFUSES(ValueError, train::batches(x, y, 0, 0), "batches", "0");
  CHECK_REFUSES(ValueError, train::batches(x, y, -1, 0), "batches", "-1");
  CHECK(train::batches(x, y, 1, 0).size() == 3);
  CHECK(train::batches(x, y, 2, 0).size() == 2);
  CHECK(train::batches(x, y, 3, 0).size() == 1);
  CHECK_REFUSES(ValueError, train::TokenBatches(tokens, 0, 1, 0), "TokenBatches", "0");
  CHECK_REFUSES(ValueError, train::TokenBatches(tokens, 1, 0, 0), "TokenBatches", "1");
  CHECK_REFUSES(ValueError, train::TokenBatches(tokens, 4, 1, 0), "TokenBatches", "4");
  CHECK(train::TokenBatches(tokens, 3, 1, 0).size() == 4);
  CHECK(lengths(2) == "[1, 1][1, 1] ");
  CHECK(lengths(3) == "[2, 1][2, 1] ");
  CHECK(lengths(4) == "[2, 1][2, 1] [1, 1][1, 1] ");
  CHECK(lengths(5) == "[2, 2][2, 2] ");
  CHECK(lengths(9) == "[2, 2][2, 2] [2, 2][2, 2] ");
  CHECK(lengths(10) == "[2, 3][2, 3] [1, 3][1, 3] ");
  CHECK_REFUSES(ValueError, train::LengthBuckets({}, 1, 0), "LengthBuckets", "sequences");
  CHECK_REFUSES(ValueError, train::LengthBuckets({1}, 0, 0), "LengthBuckets", "0");
  CHECK_REFUSES(ValueError, train::LengthBuckets({1}, 1, 0, 0), "LengthBuckets", "1");
  CHECK(train::LengthBuckets({1}, 1, 0, 1).batches_per_pass() == 1);
  CHECK(train::LengthBuckets({1, 2, 3}, 2, 0).batches_per_pass() == 2);
  CHECK_REFUSES(ValueError, train::LengthBuckets({1}, 1, 0).at(-1), "LengthBuckets", "-1");
  CHECK(joined(train::LengthBuckets({1}, 1, 0).at(0)) == "0 ");
  CHECK(joined(train::LengthBuckets({1}, 1, 0).at(5)) == "0 ");
  CHECK_REFUSES(ValueError, train::PairBatches(Pairs{{{1}, {2}}, {{}, {2}}}, 1, 0), "PairBatches",
                "1");
  CHECK_REFUSES(ValueError, train::PairBatches(Pairs{}, 1, 0), "LengthBuckets", "sequences");
  CHECK_REFUSES(ValueError, train::PairBatches(Pairs{{{1}, {}}}, 0, 0), "LengthBuckets", "0");
  CHECK(train::PairBatches(Pairs{{{1}, {}}}, 1, 0).at(0).tokens == 1);
}

TEST_CASE("a trainer accepts exactly the documented options") {
  nn::Linear net(2, 1);
  optim::SGD optimizer(net.parameters());
  const auto made = [&](void (*change)(train::TrainOptions&)) {
    train::TrainOptions options;
    options.directory = "d";
    change(options);
    return train::Trainer(net, optimizer, optim::constant_schedule(), std::move(options)).step();
  };
  const auto timed = [&](double seconds, std::int64_t most = 5) {
    return train::TimeBudget({seconds, 0, most}, 5, 5, {}).steps();
  };
  const train::RunFiles files{"run"};
  CHECK_REFUSES(ValueError, made([](train::TrainOptions& o) { o.directory = ""; }), "Trainer",
                "directory");
  CHECK_REFUSES(ValueError, made([](train::TrainOptions& o) { o.steps = 0; }), "training loop",
                "0");
  CHECK_REFUSES(ValueError, made([](train::TrainOptions& o) { o.steps = -1; }), "training loop",
                "-1");
  CHECK(made([](train::TrainOptions& o) { o.steps = 1; }) == 0);
  CHECK_REFUSES(ValueError, made([](train::TrainOptions& o) { o.eval_every = 0; }), "training loop",
                "0");
  CHECK(made([](train::TrainOptions& o) { o.eval_every = 1; }) == 0);
  CHECK_REFUSES(ValueError, made([](train::TrainOptions& o) { o.clip_norm = -0.1; }),
                "training loop", "-0.1");
  CHECK(made([](train::TrainOptions& o) { o.clip_norm = 0; }) == 0);
  CHECK_REFUSES(ValueError, made([](train::TrainOptions& o) { o.clip_norm = kNaN; }),
                "training loop", "nan");
  CHECK_REFUSES(ValueError, made([](train::TrainOptions& o) { o.clip_value = -0.1; }),
                "training loop", "-0.1");
  CHECK_REFUSES(ValueError, made([](train::TrainOptions& o) { o.clip_value = kNaN; }),
                "training loop", "nan");
  CHECK_REFUSES(ValueError, made([](train::TrainOptions& o) { o.shards = 0; }), "Trainer", "0");
  CHECK(made([](train::TrainOptions& o) { o.shards = 1; }) == 0);
  CHECK_REFUSES(ValueError, made([](train::TrainOptions& o) { o.patience = -1; }), "Trainer", "-1");
  CHECK(made([](train::TrainOptions& o) { o.patience = 1; }) == 0);
  CHECK_REFUSES(ValueError, made([](train::TrainOptions& o) {
                  o.time.seconds = 0.5;
                  o.patience = 1;
                }),
                "Trainer", "1");
  CHECK(made([](train::TrainOptions& o) { o.time.seconds = 0.5; }) == 0);
  CHECK_REFUSES(ValueError, timed(-0.1), "TimeLimit", "-0.1");
  CHECK(timed(0) == 5);
  CHECK_REFUSES(ValueError, timed(kInf), "TimeLimit", "inf");
  CHECK_REFUSES(ValueError, timed(kNaN), "TimeLimit", "nan");
  CHECK_REFUSES(ValueError, timed(1, 0), "TimeLimit", "0");
  CHECK(timed(1, 1) == 5);
  CHECK(files.all() == std::vector<std::string>{"run/metrics.jsonl", "run/model.safetensors",
                                                "run/checkpoint.safetensors", "run/loss.svg"});
}

}  // namespace gradus::testing::test_errors
