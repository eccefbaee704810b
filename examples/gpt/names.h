// The names that flags and settings.json have for what a model may be.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gradus/base/error.h"
#include "gradus/io/text.h"
#include "gradus/models/gpt.h"

namespace gradus::examples {

template <class E>
using Names = std::vector<std::pair<std::string, E>>;

inline const Names<nn::HeadPosition> kPositions = {{"learned", nn::HeadPosition::none},
                                                   {"rotary", nn::HeadPosition::rotary},
                                                   {"alibi", nn::HeadPosition::alibi},
                                                   {"relative", nn::HeadPosition::relative}};
inline const Names<nn::NormKind> kNorms = {{"layer", nn::NormKind::layer},
                                           {"rms", nn::NormKind::rms}};
inline const Names<nn::Activation> kActivations = {{"gelu", nn::Activation::gelu_tanh},
                                                   {"gelu_erf", nn::Activation::gelu},
                                                   {"relu", nn::Activation::relu},
                                                   {"silu", nn::Activation::silu},
                                                   {"swiglu", nn::Activation::swiglu}};

template <class E>
std::string name_of(const Names<E>& names, E value) {
  for (const auto& [name, each] : names)
    if (each == value) return name;
  return "?";
}

/// ValueError lists the names, after `what` they are of: "--norm".
template <class E>
E called(const Names<E>& names, const std::string& what, const std::string& name) {
  std::string known;
  for (const auto& [each, value] : names) {
    if (each == name) return value;
    known += (known.empty() ? "" : ", ") + each;
  }
  fail<ValueError>(what, " ", io::in_quotes(name), ": there are ", known);
}

}  // namespace gradus::examples
