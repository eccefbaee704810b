#include "translation.h"

#include <algorithm>

#include "gradus/engine/base/error.h"
#include "gradus/io/text.h"
#include "gradus/ops/create.h"

namespace gradus::examples {
namespace {

constexpr std::size_t kSideBySide = 250;  // sources per batch

std::vector<Ids> greedy(const nn::Translator& model, const std::vector<Ids>& sources) {
  const PaddedBatch padded = pad_sequences(sources);
  nn::TranslatorDecoderState continuation(model, padded.ids, padded.lengths);
  const std::vector<Ids> begin(sources.size(), Ids{Vocabulary::kBegin});
  return nn::generate(continuation, begin,
                      {.tokens = kLongest, .end = Vocabulary::kEnd, .sampling = {.temperature = 0}},
                      RandomStream(), [](std::int64_t, std::int64_t) { return true; });
}

}  // namespace

Ids encoded(const Vocabulary& vocabulary, const std::string& text) {
  const Ids ids = vocabulary.encode(text);
  require(!ids.empty(), io::quote(text), ": there is nothing to translate; give a text");
  require(std::ssize(ids) <= kContext, io::quote(text), ": has ", ids.size(), " ",
          vocabulary.unit(), "s, but the model reads at most ", kContext);
  return ids;
}

std::vector<std::pair<Ids, Ids>> pairs_of(const Task& task, const std::vector<Example>& examples) {
  std::vector<std::pair<Ids, Ids>> pairs;
  for (const Example& each : examples)
    pairs.emplace_back(encoded(task.source, each.source), encoded(task.target, each.target));
  return pairs;
}

std::vector<std::string> translations(const nn::Translator& model, const Task& task,
                                      const std::vector<Example>& examples) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < examples.size(); i += kSideBySide) {
    std::vector<Ids> sources;
    for (std::size_t k = i; k < std::min(examples.size(), i + kSideBySide); ++k)
      sources.push_back(encoded(task.source, examples[k].source));
    for (const Ids& each : greedy(model, sources)) found.push_back(task.target.decode(each));
  }
  return found;
}

std::vector<nn::Beam> best_translations(const nn::Translator& model, const Ids& source,
                                        std::int64_t beams) {
  nn::TranslatorDecoderState continuation(model, tensor(source, {1, std::ssize(source)}));
  return nn::beam_search(continuation, {Vocabulary::kBegin},
                         {.beams = beams, .tokens = kLongest, .end = Vocabulary::kEnd});
}

}  // namespace gradus::examples
