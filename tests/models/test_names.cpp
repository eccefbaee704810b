// Tables of names: each as a whole, and that a model that is written under them is read again.
#include "gradus/models/families.h"
#include "gradus/models/names.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/models/tiny_models.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing {
namespace {

std::string list(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t each : numbers) text += str_cat(" ", each);
  return text;
}

std::string table(const std::string& title, const nn::Names& names) {
  std::string text = str_cat(title, ": prefix \"", names.prefix, "\"\n");
  const char* const forms[] = {"", " transposed", " unrolled", " pairs", " again"};
  for (const nn::NameRule& rule : names.rules)
    text += str_cat("  ", rule.ours, " = ", rule.theirs, forms[static_cast<int>(rule.form)],
                    rule.parts.empty() ? "" : ", rows" + list(rule.parts),
                    rule.tail.rank() == 0 ? "" : str_cat(", tail ", rule.tail), "\n");
  for (const std::string& each : names.ignored) text += "  ignored: " + each + "\n";
  return text;
}

/// Two and more of everything, no two sizes alike; heads of six, whose pairs are not their halves.
nn::GPTOptions odd() {
  return {.vocab = 11,
          .context = 5,
          .layers = 2,
          .heads = 4,
          .width = 24,
          .norm_kind = nn::NormKind::rms,
          .activation = nn::Activation::swiglu,
          .kv_heads = 2,
          .position = nn::HeadPosition::rotary};
}

nn::BERTOptions words(bool shared) {
  return {.vocab = 11, .context = 5, .layers = 2, .heads = 3, .width = 12, .shared = shared};
}

/// Writes `model` under the names and reads it into `other`, of the same kind with other numbers.
template <class M>
nn::StateDict check_round(const M& model, M other, const nn::Names& names) {
  const nn::StateDict theirs = nn::named_state(model, names);
  nn::load_named(other, names, nn::reader_of(theirs));
  const nn::StateDict wanted = model.state_dict(), got = other.state_dict();
  REQUIRE(wanted.size() == got.size());
  for (const auto& [name, tensor] : wanted) {
    INFO(name);
    REQUIRE(numbers(tensor) == numbers(got.at(name)));
  }
  return theirs;
}

}  // namespace

TEST_CASE("a model that is written under other names is read again") {
  seed(5);
  nn::GPTOptions untied = odd();
  untied.tied = false, untied.qk_norm = 1e-6, untied.hidden = 10;
  for (const nn::GPTOptions& o : {odd(), untied}) {
    check_round(nn::GPT(o), nn::GPT(o), nn::llama_names(o));
    check_round(nn::GPT(o), nn::GPT(o), nn::gguf_names(o, false));
    check_round(nn::GPT(o), nn::GPT(o), nn::gguf_names(o, true));
  }
  const nn::GPTOptions plain{.vocab = 7, .context = 3, .layers = 2, .heads = 2, .width = 4};
  check_round(nn::GPT(plain), nn::GPT(plain), nn::gpt2_names());
  for (const bool shared : {false, true}) {
    const nn::BERTOptions o = words(shared);
    check_round(nn::BERT(o), nn::BERT(o), nn::bert_names(o));
    check_round(nn::MaskedLM(o), nn::MaskedLM(o), nn::masked_lm_names(o));
    check_round(nn::TextClassifier(o, 3), nn::TextClassifier(o, 3), nn::text_classifier_names(o));
  }
}

TEST_CASE("rows as pairs are those of each head, of queries and keys alone") {
  seed(6);
  const nn::GPTOptions o = odd();  // 4 and 2 heads of 6 rows of 24
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
        // pair i of a head is its rows i and i + 3
        const std::int64_t half = part < 2 ? r / 6 * 6 + r % 6 / 2 + r % 2 * 3 : r;
        REQUIRE(got[std::size_t(r * 24 + c)] == ours[std::size_t((first[part] + half) * 24 + c)]);
      }
  }
}

TEST_CASE("a weight may be unrolled into any number of axes") {
  seed(7);
  const nn::Linear model(6, 4);
  for (const Shape& tail : {Shape{6}, Shape{2, 3}, Shape{1, 3, 2}}) {
    const nn::Names both{{{"weight", "conv.weight", nn::Form::unrolled, {}, tail},
                          {"bias", "conv.bias", nn::Form::unrolled, {}, tail}}};
    const nn::StateDict theirs = check_round(model, nn::Linear(6, 4), both);
    CHECK(theirs.at("conv.weight").rank() == tail.rank() + 1);
    CHECK(theirs.at("conv.weight").size(1) == tail[0]);
    CHECK(theirs.at("conv.bias").shape() == Shape{4});
  }
}

}  // namespace gradus::testing
