#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gradus/nn/models/translator.h"
#include "gradus/train/data.h"
#include "task.h"

namespace gradus::examples {

constexpr std::int64_t kContext = 80;  // tokens of the longest source
constexpr std::int64_t kLongest = 24;  // tokens of the longest target, including the end token

/// Throws ValueError if a text is empty, too long, or has an unknown token.
Ids encoded(const Vocabulary& vocabulary, const std::string& text);

std::vector<std::pair<Ids, Ids>> pairs_of(const Task& task, const std::vector<Example>& examples);

std::vector<std::string> translations(const nn::Translator& model, const Task& task,
                                      const std::vector<Example>& examples);

/// Returns the `beams` most likely translations, best first. 1 is greedy decoding.
std::vector<nn::Beam> best_translations(const nn::Translator& model, const Ids& source,
                                        std::int64_t beams);

}  // namespace gradus::examples
