// What decoding asks of a model, call by call; and what a model's state keeps of a long text.
#include "gradus/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/models/bert.h"
#include "gradus/models/decode.h"
#include "gradus/models/gpt.h"
#include "gradus/models/translator.h"
#include "gradus/ops/activation.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/models/tiny_models.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {
namespace {

using nn::Tokens;

std::string list(const std::vector<std::int64_t>& all) {
  std::string text = "[";
  for (const std::int64_t each : all) text += str_cat(" ", each);
  return text + " ]";
}

/// A model of four tokens that tells what it is asked. Token 3 ends a text: it becomes likelier
/// with each step, or it is the likeliest at once.
class Told final : public nn::DecoderState {
 public:
  explicit Told(double ends) : ends_(ends) {}
  Tensor next(const std::vector<Tokens>& tokens) override {
    text += "next";
    for (const Tokens& each : tokens) text += " " + list(each);
    text += "\n";
    ++steps_;
    std::vector<double> logits;
    for (const Tokens& each : tokens) {
      const double last = static_cast<double>(each.back());
      for (const double x : {1.0, 0.5 + 0.25 * last, -0.5 * last, ends_ + steps_})
        logits.push_back(x);
    }
    return tensor(logits, {std::ssize(tokens), 4});
  }
  void select(const std::vector<std::int64_t>& sequences) override {
    text += "select " + list(sequences) + "\n";
  }
  std::string text;

 private:
  double ends_, steps_ = 0;
};

std::string search(double ends, const nn::BeamOptions& options) {
  Told model(ends);
  const std::vector<nn::Beam> found = nn::beam_search(model, {1, 2}, options);
  for (const nn::Beam& each : found)
    model.text += str_cat("found ", list(each.tokens), " ", std::setprecision(6), each.score, "\n");
  return model.text;
}

std::string generated(double ends, std::int64_t tokens, std::int64_t told) {
  Told model(ends);
  std::int64_t calls = 0;
  const std::vector<Tokens> added = nn::generate(
      model, {{1}, {2, 0}}, {.tokens = tokens, .end = 3, .sampling = {.temperature = 0}}, {7, 0, 0},
      [&](std::int64_t sequence, std::int64_t token) {
        model.text += str_cat("text ", sequence, " gets ", token, "\n");
        return ++calls < told;
      });
  for (const Tokens& each : added) model.text += "added " + list(each) + "\n";
  return model.text;
}

}  // namespace

/// It knows one token, which ends a text; nothing can be left to go on with.
struct Ends final : nn::DecoderState {
  Tensor next(const std::vector<Tokens>& tokens) override { return zeros({std::ssize(tokens), 1}); }
  void select(const std::vector<std::int64_t>& sequences) override {
    CHECK_FALSE(sequences.empty());
  }
};

TEST_CASE("a search whose texts have all ended asks for nothing more") {
  Ends model;
  const std::vector<nn::Beam> found = nn::beam_search(model, {0}, {.beams = 3, .end = 0});
  REQUIRE(found.size() == 1);
  CHECK(found[0].tokens == Tokens{0});
  CHECK(found[0].score == 0);
}

TEST_CASE("a state whose heads see positions keeps a window for ever, and no more") {
  const NoGrad off;
  for (const nn::HeadPosition position : {nn::HeadPosition::rotary, nn::HeadPosition::alibi}) {
    nn::GPTOptions options = tiny();
    options.position = position, options.window = 3, options.context = 4;
    nn::GPT model(options);
    enlarge(model);
    options.context = 40;
    nn::GPT whole(options);  // reads the whole text each time
    whole.to(Dtype::f64);
    whole.load_state_dict(model.state_dict());
    whole.eval();
    nn::GPTDecoderState state(model);
    const Tensor ids = ids_of(1, 12);
    const auto tokens = ids.to_vector<std::int64_t>();
    for (std::int64_t n = 0; n < 12; ++n) {
      const Tensor got = state.next({{tokens[std::size_t(n)]}});
      check_equal(got, select(whole(slice(ids, 1, 0, n + 1)), 1, n));
    }
  }
}

TEST_CASE("a state whose heads see positions without a window begins anew after its context") {
  const NoGrad off;
  nn::GPTOptions options = tiny();
  options.position = nn::HeadPosition::rotary, options.context = 4;
  nn::GPT model(options);
  enlarge(model);
  nn::GPTDecoderState state(model);
  const Tensor ids = ids_of(1, 6);
  const auto tokens = ids.to_vector<std::int64_t>();
  for (std::int64_t n = 0; n < 6; ++n) {
    const Tensor got = state.next({{tokens[std::size_t(n)]}});
    const Tensor seen = slice(ids, 1, std::max<std::int64_t>(0, n - 3), n + 1);
    check_equal(got, select(model(seen), 1, -1));
  }
}

TEST_CASE("tokens are masked by three numbers of a stream each, in the largest vocabulary too") {
  constexpr std::int64_t kVocab = (std::int64_t{1} << 24) + 9, kFirst = 8, kMask = 3;
  Ids given;
  for (std::int64_t i = 0; i < 2000; ++i) given.push_back(i % 50 == 7 ? i % kFirst : 8 + i);
  const RandomStream random{6, 3, 0};
  const nn::MaskedTokens out =
      nn::mask_tokens(tensor(given, {20, 100}),
                      {.vocab = kVocab, .mask_id = kMask, .first_id = kFirst, .rate = 0.4}, random);
  Ids ids, targets;
  for (std::int64_t i = 0; i < 2000; ++i) {
    const std::int64_t old = given[std::size_t(i)];
    const bool chosen = old >= kFirst && random.uniform(3 * i) < 0.4;
    const double fate = random.uniform(3 * i + 1);
    const auto drawn =
        static_cast<std::int64_t>(random.uniform(3 * i + 2) * double(kVocab - kFirst));
    targets.push_back(chosen ? old : -1);
    ids.push_back(!chosen || fate >= 0.9 ? old : fate < 0.8 ? kMask : kFirst + drawn);
  }
  REQUIRE(targets[0] != -1);  // the first token is one of those
  CHECK(out.ids.to_vector<std::int64_t>() == ids);
  CHECK(out.targets.to_vector<std::int64_t>() == targets);
  CHECK(out.targets.shape() == Shape{20, 100});
}

TEST_CASE("a pooled text is tanh of a linear map of its first vector") {
  const NoGrad off;
  nn::BERT bert({.vocab = 13, .context = 4, .width = 6, .pooler = true});
  enlarge(bert);
  const Tensor x = bert(ids_of(2, 4));
  check_equal(bert.pool(x), tanh(bert.pooler(select(x, 1, 0))));
}

TEST_CASE("a shared embedding is the target's") {
  nn::TranslatorOptions options{
      .source_vocab = 5, .target_vocab = 5, .context = 3, .heads = 1, .width = 4};
  seed(8);
  const nn::Translator apart(options);
  options.shared = true;
  seed(8);
  const nn::Translator shared(options);
  CHECK(numbers(shared.source_token.weight) == numbers(apart.target_token.weight));
  CHECK(numbers(shared.target_token.weight) == numbers(apart.target_token.weight));
}

}  // namespace gradus::testing
