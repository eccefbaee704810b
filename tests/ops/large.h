// Samples larger than one vector, one tile, one block of a sum, and one chunk per thread, with
// sizes that are not multiples of these. Gradients are compared along random directions, which
// expose any wrong element.
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
