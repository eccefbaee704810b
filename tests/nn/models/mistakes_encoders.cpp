#include "gradus/examples/apps/listen/listener.h"
#include "gradus/nn/models/bert.h"
#include "gradus/nn/models/vit.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/mistakes.h"

namespace gradus::testing {
namespace {

const nn::BERTOptions kSmall{.vocab = 5, .context = 2, .block = {.width = 4}};

nn::VisionTransformerOptions images() {
  return {.size = 6, .patch = 3, .classes = 2, .block = {.width = 4}};
}

}  // namespace

Mistakes encoder_model_mistakes() {
  const Tensor three = zeros({1, 3}, Dtype::i64), two = zeros({2, 2}, Dtype::i64);
  return {
      {"nn::BERT", {"BERT", "3", "2"}, [=] { nn::BERT{kSmall}(three); }},
      {"nn::BERT",
       {"BERT", "[2]"},
       [] {
         nn::BERT{kSmall}(indices({1, 2}));
       }},
      {"nn::BERT", {"BERT", "undefined"}, [] { nn::BERT{kSmall}(Tensor()); }},
      {"nn::MaskedLM", {"BERT", "3", "2"}, [=] { nn::MaskedLM{kSmall}(three); }},
      {"nn::TextClassifier",
       {"lengths"},
       [=] {
         nn::TextClassifier{kSmall, 3}(two, std::vector<std::int64_t>{2});
       }},
      {"nn::VisionTransformer",
       {"VisionTransformer", "4", "6"},
       [] {
         nn::VisionTransformerOptions options = images();
         options.patch = 4;
         nn::VisionTransformer{options};
       }},
      {"nn::VisionTransformer",
       {"VisionTransformer", "1", "0"},
       [] {
         nn::VisionTransformerOptions options = images();
         options.classes = 0;
         nn::VisionTransformer{options};
       }},
      {"nn::VisionTransformer",
       {"VisionTransformer", "[2, 1, 6, 5]"},
       [] {
         nn::VisionTransformer model(images());
         model(ones({2, 1, 6, 5}));
       }},
      {"nn::VisionTransformer",
       {"VisionTransformer", "[2, 1, 5, 6]"},
       [] {
         nn::VisionTransformer{images()}(ones({2, 1, 5, 6}));
       }},
      {"nn::VisionTransformer",
       {"VisionTransformer", "[2, 2, 6, 6]"},
       [] {
         nn::VisionTransformer{images()}(ones({2, 2, 6, 6}));
       }},
      {"nn::VisionTransformer",
       {"VisionTransformer", "[1, 6, 6]"},
       [] {
         nn::VisionTransformer{images()}(ones({1, 6, 6}));
       }},
      {"nn::VisionTransformer",
       {"VisionTransformer", "undefined"},
       [] { nn::VisionTransformer{images()}(Tensor()); }},
      {"examples::ConvolutionBlock",
       {"ConvolutionBlock", "4"},
       [] { examples::ConvolutionBlock({.block = {.width = 4}, .kernel = 4}); }},
      {"examples::Listener",
       {"Listener", "3", "5"},
       [] { examples::Listener({.bands = 3, .frames = 5, .width = 4}); }},
      {"examples::Listener",
       {"Listener", "[2, 3, 6]"},
       [] {
         examples::Listener model({.bands = 3, .frames = 5, .classes = 2, .width = 4});
         model(ones({2, 3, 6}));
       }},
  };
}

}  // namespace gradus::testing
