// Large samples: more elements than kernels take in one go (vectors, tiles, blocks of a sum, pieces
// for threads), and sizes that divide none of these. Their gradients are seen along random
// directions: an error in one element shows in all of them.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "gradus/tests/support/registry.h"

namespace gradus::testing::large {

inline void push(Samples& all, std::string op, Inputs inputs,
                 std::function<Tensor(const Inputs&)> f, Reference reference,
                 std::string function = {}) {
  std::string what = "large:";
  for (const Tensor& x : inputs) what += " " + to_string(x.shape());
  all.push_back({.op = std::move(op),
                 .what = std::move(what),
                 .inputs = std::move(inputs),
                 .f = std::move(f),
                 .reference = std::move(reference),
                 .large = true,
                 .function = std::move(function)});
}

}  // namespace gradus::testing::large
