// Tests tables of parameter names.
#include "gradus/nn/models/families.h"

#include "gradus/nn/extras/lora.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/models/weight_map.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/tests/nn/models/tiny_models.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_weight_map {
namespace {

/// All sizes differ. Heads have six rows, so that interleaved pairs differ from halves.
nn::GPTOptions odd() {
  return {.vocab = 11,
          .context = 5,
          .layers = 2,
          .block = {.width = 24,
                    .heads = 4,
                    .kv_heads = 2,
                    .activation = nn::Activation::swiglu,
                    .norm_kind = nn::NormKind::rms,
                    .head = {.position = nn::HeadPosition::rotary}}};
}

nn::BERTOptions words(bool shared) {
  return {
      .vocab = 11, .context = 5, .layers = 2, .block = {.width = 12, .heads = 3}, .shared = shared};
}

template <class M>
nn::StateDict check_round(const M& model, M other, const nn::WeightMap& names) {
  const nn::StateDict theirs = nn::mapped_state(model, names);
  nn::load_mapped(other, names, nn::reader_of(theirs));
  const nn::StateDict wanted = model.state_dict(), got = other.state_dict();
  REQUIRE(wanted.size() == got.size());
  for (const auto& [name, tensor] : wanted) {
    INFO(name);
    REQUIRE(numbers(tensor) == numbers(got.at(name)));
  }
  return theirs;
}

}  // namespace

TEST_CASE("a model that is saved under other names can be loaded") {
  seed(5);
  nn::GPTOptions untied = odd();
  untied.tied = false, untied.block.head.qk_norm = 1e-6, untied.block.hidden = 10;
  for (const nn::GPTOptions& o : {odd(), untied}) {
    check_round(nn::GPT(o), nn::GPT(o), nn::llama_names(o));
    check_round(nn::GPT(o), nn::GPT(o), nn::gguf_names(o, false));
    check_round(nn::GPT(o), nn::GPT(o), nn::gguf_names(o, true));
  }
  const nn::GPTOptions plain{
      .vocab = 7, .context = 3, .layers = 2, .block = {.width = 4, .heads = 2}};
  check_round(nn::GPT(plain), nn::GPT(plain), nn::gpt2_names());
  for (const bool shared : {false, true}) {
    const nn::BERTOptions o = words(shared);
    check_round(nn::BERT(o), nn::BERT(o), nn::bert_names(o));
    check_round(nn::MaskedLM(o), nn::MaskedLM(o), nn::masked_lm_names(o));
    check_round(nn::TextClassifier(o, 3), nn::TextClassifier(o, 3), nn::text_classifier_names(o));
  }
}

TEST_CASE("interleaved rows are permuted within each head of queries and keys only") {
  seed(6);
  const nn::GPTOptions o = odd();  // 4 query and 2 key heads, each 6 rows of 24
  const nn::GPT model(o);
  const nn::StateDict theirs = check_round(model, nn::GPT(o), nn::gguf_names(o, true));
  const auto ours = numbers(model.state_dict().at("blocks.1.attention.qkv_proj.weight"));
  const std::int64_t first[] = {0, 24, 36}, rows[] = {24, 12, 12};
  for (std::size_t part = 0; part < 3; ++part) {
    const char* const name[] = {"blk.1.attn_q.weight", "blk.1.attn_k.weight",
                                "blk.1.attn_v.weight"};
    const auto got = numbers(theirs.at(name[part]));
    REQUIRE(std::ssize(got) == rows[part] * 24);
    for (std::int64_t r = 0; r < rows[part]; ++r)
      for (std::int64_t c = 0; c < 24; ++c) {
        // Pair i of a head consists of rows i and i + 3.
        const std::int64_t half = part < 2 ? r / 6 * 6 + r % 6 / 2 + r % 2 * 3 : r;
        REQUIRE(got[std::size_t(r * 24 + c)] == ours[std::size_t((first[part] + half) * 24 + c)]);
      }
  }
}

TEST_CASE("an unrolled weight may have any number of axes") {
  seed(7);
  const nn::Linear model(6, 4);
  for (const Shape& tail : {Shape{6}, Shape{2, 3}, Shape{1, 3, 2}}) {
    const nn::WeightMap both{{{"weight", "conv.weight", nn::Form::unrolled, {}, tail},
                              {"bias", "conv.bias", nn::Form::unrolled, {}, tail}}};
    const nn::StateDict theirs = check_round(model, nn::Linear(6, 4), both);
    CHECK(theirs.at("conv.weight").rank() == tail.rank() + 1);
    CHECK(theirs.at("conv.weight").size(1) == tail[0]);
    CHECK(theirs.at("conv.bias").shape() == Shape{4});
  }
}

namespace {

using nn::Form;

struct Net : nn::Layer<Net> {
  nn::Linear a{3, 4}, b{3, 2};
  nn::Members members() override { return {{"a", a}, {"b", b}}; }
  Tensor forward(const Tensor& x) const { return a(x); }
};

Tensor some(const Shape& shape, double first) {
  return reshape(arange(0, numel(shape)), shape).to(Dtype::f64) + first;
}

/// Returns the loaded net as text, or the error message from its second line on.
std::string loaded(const nn::WeightMap& names, const nn::StateDict& theirs) {
  return outcome([&] {
    Net net;
    nn::load_mapped(net, names, nn::reader_of(theirs));
    std::string text;
    for (const auto& [name, tensor] : net.state_dict())
      text += str_cat(name, " ", numbers(tensor)[0], ";");
    return text;
  });
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const nn::WeightMap kPlain = {.rules = {{"a.*", "model.x.*"}, {"b.*", "model.y.*"}},
                              .prefix = "model.",
                              .ignored = {"model.mask", "model.count.{}"}};

nn::StateDict plain_state(const std::string& prefix) {
  return {{prefix + "x.weight", some({4, 3}, 10)},
          {prefix + "x.bias", some({4}, 30)},
          {prefix + "y.weight", some({2, 3}, 40)},
          {prefix + "y.bias", some({2}, 50)}};
}

}  // namespace

TEST_CASE("files may omit the prefix and contain ignored tensors") {
  const std::string good = "a.bias 30;a.weight 10;b.bias 50;b.weight 40;";
  for (const std::string prefix : {"model.", ""}) {
    nn::StateDict state = plain_state(prefix);
    CHECK(loaded(kPlain, state) == good);
    state[prefix + "mask"] = ones({2});
    state[prefix + "count.0"] = state[prefix + "count.1"] = ones({1});
    CHECK(loaded(kPlain, state) == good);
    state[prefix + "count.3"] = ones({1});
    CHECK(contains(loaded(kPlain, state), "unexpected  " + prefix + "count.3 [1]"));
  }
}

TEST_CASE("only the exact prefix is removed from a name") {
  nn::WeightMap names = kPlain;
  names.rules[1] = {"b.*", "outputs.*"};
  nn::StateDict state = plain_state("");
  state.erase("y.weight"), state.erase("y.bias");
  state["s.weight"] = some({2, 3}, 40);
  state["outputs.bias"] = some({2}, 50);
  const std::string message = loaded(names, state);
  CHECK(contains(message, "missing     outputs.weight [2, 3], for b.weight"));
  CHECK(contains(message, "unexpected  s.weight [2, 3]"));
  names.rules[1] = {"b.*", "y.*"};
  CHECK(contains(loaded(names, plain_state("model.")), "missing     y.bias [2], for b.bias"));
}

TEST_CASE("a tensor without a rule in the map is an error in loading and saving") {
  const nn::WeightMap half = {.rules = {{"a.*", "x.*"}, {"b.weight", "y.weight"}}};
  nn::StateDict state = plain_state("");
  CHECK(
      contains(loaded(half, state), "unnamed     b.bias [2]: the map has no rule for this tensor"));
  CHECK(contains(outcome([&] { return str_cat(nn::mapped_state(Net(), half).size()); }),
                 "ValueError: the weight map has no name for b.bias"));
  const nn::WeightMap complete = {.rules = {{"a.*", "x.*"}, {"b.*", "y.*"}}};
  CHECK(nn::mapped_state(Net(), complete).size() == 4);
  Net adapted;
  nn::add_adapters(adapted, "b", {.rank = 1});
  const std::string message =
      outcome([&] { return str_cat(nn::mapped_state(adapted, complete).size()); });
  CHECK(contains(message, "the weight map has no name for b.lora_a. Merge the adapters first."));
}

TEST_CASE("one tensor may join rows of several file tensors, and the reverse") {
  struct Parts : nn::Layer<Parts> {
    Tensor joined = nn::parameter(zeros({5, 3})), first = nn::parameter(zeros({2, 3})),
           second = nn::parameter(zeros({4, 3}));
    nn::Members members() override {
      return {{"joined", joined}, {"first", first}, {"second", second}};
    }
    Tensor forward(const Tensor& x) const { return x; }
  } net;
  const nn::WeightMap names = {
      .rules = {{"joined", "(q|k)", Form::same, {2, 3}}, {"(first|second)", "both"}}};
  const nn::StateDict theirs = {
      {"q", some({2, 3}, 0)}, {"k", some({3, 3}, 6)}, {"both", some({6, 3}, 20)}};
  nn::load_mapped(net, names, nn::reader_of(theirs));
  CHECK(numbers(net.joined) == numbers(some({5, 3}, 0)));
  CHECK(numbers(net.first) == numbers(some({2, 3}, 20)));
  CHECK(numbers(net.second) == numbers(some({4, 3}, 26)));
  const nn::StateDict again = nn::mapped_state(net, names);
  net.joined.detach().fill_(-1), net.first.detach().fill_(-1);  // must not affect `again`
  REQUIRE(again.size() == 3);
  for (const auto& [name, tensor] : theirs) {
    CHECK(numbers(again.at(name)) == numbers(tensor));
    CHECK_FALSE(again.at(name).requires_grad());
  }
}

TEST_CASE("written tensors are copies in each form") {
  Net net;
  for (const Form form : {Form::same, Form::transposed}) {
    const nn::WeightMap names = {.rules = {{"a.*", "x.*", form}, {"b.*", "y.*", form}}};
    const nn::StateDict state = nn::mapped_state(net, names);
    const std::vector<double> before = numbers(state.at("x.weight"));
    net.a.weight.detach().fill_(before[0] + 1);
    CHECK(numbers(state.at("x.weight")) == before);
  }
}

TEST_CASE("a second name may be missing, come first, or repeat the same tensor") {
  const nn::WeightMap names = {
      .rules = {{"a.weight", "head", Form::again}, {"a.*", "x.*"}, {"b.*", "y.*"}}};
  nn::StateDict state = plain_state("");
  const std::string good = "a.bias 30;a.weight 10;b.bias 50;b.weight 40;";
  CHECK(loaded(names, state) == good);
  state["head"] = some({4, 3}, 10).to(Dtype::f32);
  CHECK(loaded(names, state) == good);
  state["head"] = some({4, 3}, 11);
  CHECK(contains(loaded(names, state),
                 "head must equal a.weight, which this model shares, but has other values"));
}

}  // namespace gradus::testing::test_weight_map
