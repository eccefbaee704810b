#include <cmath>
#include <string>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/examples/apps/search/sentences.h"
#include "gradus/io/text.h"
#include "gradus/nn/init.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_search {
namespace {

using examples::SourceSentence;
using Ids = std::vector<std::int64_t>;

std::string shown(const std::string& text) {
  std::string all;
  for (const SourceSentence& each : examples::sentences_of(text, "a.md"))
    all += each.file + ":" + std::to_string(each.line) + " " + each.text + "\n";
  return all;
}

/// Returns a model with large weights, so that each token and position affects the result.
nn::BERT model_for(const io::PretrainedTokenizer& tokenizer) {
  seed(3);
  nn::BERT model(
      {.vocab = tokenizer.vocab_size(), .context = 256, .block = {.width = 8, .heads = 2}});
  for (const nn::NamedTensor& each : model.parameters()) {
    Tensor p = each.tensor;
    nn::init::normal_(p, 0, 0.5);
  }
  model.eval();
  return model;
}

/// Returns the normalized mean of the model's output for one text.
std::vector<double> by_hand(const nn::BERT& model, const Ids& ids) {
  const auto x = model(tensor(ids, {1, std::ssize(ids)})).to_vector<float>();
  std::vector<double> mean(8);
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) mean[i % 8] += x[i];
  for (const double each : mean) squares += each * each;
  for (double& each : mean) each /= std::sqrt(squares);
  return mean;
}

}  // namespace

TEST_CASE("sentences end at marks and paragraphs, with the right line numbers") {
  CHECK(shown("One two three four. Is it so, or not?\nFive words and\nno more! The end\n") ==
        "a.md:1 One two three four.\na.md:1 Is it so, or not?\na.md:2 Five words and no more!\n");
  CHECK(shown("Version 1.2 has a.b in it\n\nand this is another\n") ==
        "a.md:1 Version 1.2 has a.b in it \na.md:3 and this is another \n");
  CHECK(shown("# A heading of four words\n| a | table | of | words |\n    code that is set in\n"
              "```\nwhat is in a fence\n```\nwords after all of that.\n") ==
        "a.md:7 words after all of that.\n");
  CHECK(shown("").empty());
}

TEST_CASE("a sentence's vector is the mean over its tokens, independent of its batch") {
  const std::string path = GRADUS_SOURCE_DIR "/tests/golden/tokenizers/bert.json";
  const auto tokenizer = io::PretrainedTokenizer::parse(io::read_text(path), path);
  const nn::BERT model = model_for(tokenizer);
  std::vector<std::string> texts;
  for (int i = 0; i < 18; ++i) {  // more than one batch
    texts.emplace_back("the");
    for (int k = i; k < 18; ++k) texts.back() += " " + std::string(1, static_cast<char>('a' + k));
  }
  std::string longest;
  for (int i = 0; i < 300; ++i) longest += " " + std::string(1, static_cast<char>('a' + i % 7));
  texts.push_back(longest);
  const Tensor vectors = examples::vectors_of(texts, model, tokenizer);
  REQUIRE(vectors.shape() == Shape{19, 8});
  const std::vector<float> found = vectors.to_vector<float>();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Ids ids = tokenizer.encode_whole(texts[i]);
    if (ids.size() > 256) ids.erase(ids.begin() + 255, ids.end() - 1);  // keeps [SEP]
    const std::vector<double> expected = by_hand(model, ids);
    for (std::size_t k = 0; k < 8; ++k) CHECK(std::abs(found[8 * i + k] - expected[k]) < 1e-4);
  }
}

}  // namespace gradus::testing::test_search
