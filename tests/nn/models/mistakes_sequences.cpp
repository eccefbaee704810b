// Invalid calls of the translator and the recommender.
#include "gradus/examples/apps/recommend/recommender.h"
#include "gradus/nn/models/translator.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/mistakes.h"

namespace gradus::testing {

Mistakes sequence_model_mistakes() {
  const nn::TranslatorOptions small{
      .source_vocab = 5, .target_vocab = 5, .context = 3, .block = {.width = 4, .heads = 2}};
  const examples::RecommenderOptions few{.items = 5, .context = 3, .width = 4};
  const auto row = [](std::int64_t length) { return reshape(arange(length), {1, length}); };
  return {
      {"nn::Translator",
       {"Translator", "4", "3"},
       [=] {
         const nn::Translator model(small);
         model(row(4), row(2));
       }},
      {"nn::Translator",
       {"Translator", "[3]"},
       [=] {
         const nn::Translator model(small);
         model(arange(3), row(2));
       }},
      {"nn::Translator",
       {"Translator", "5", "7"},
       [=] {
         nn::TranslatorOptions other = small;
         other.target_vocab = 7, other.shared = true;
         const nn::Translator made(other);
       }},
      {"nn::Translator",
       {"embedding", "[0, 1]", "[1, 2]"},
       [=] {
         const nn::Translator model(small);
         model(reshape(indices({1, 9}), {1, 2}), row(2));
       }},
      {"nn::Translator",
       {"padding_mask", "1", "2"},
       [=] {
         const Tensor two = reshape(arange(4), {2, 2});
         const nn::Translator model(small);
         model(two, two, nn::Tokens{2});
       }},
      {"nn::Translator",
       {"TranslatorDecoderState", "1", "2"},
       [=] {
         const nn::Translator model(small);
         nn::TranslatorDecoderState(model, reshape(arange(4), {2, 2})).next({{1}});
       }},
      {"examples::Recommender",
       {"Recommender", "[3]"},
       [=] {
         const examples::Recommender model(few);
         model(arange(3));
       }},
      {"examples::Recommender",
       {"Recommender", "4", "3"},
       [=] {
         const examples::Recommender model(few);
         model(row(4));
       }},
      {"examples::Recommender",
       {"embedding", "[0, 1]", "[1, 2]"},
       [=] {
         const examples::Recommender model(few);
         model(reshape(indices({1, 6}), {1, 2}));
       }},
  };
}

}  // namespace gradus::testing
