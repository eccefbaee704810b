// Small f64 models with large weights, so that each token affects the result.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/nn/init.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/naive.h"

namespace gradus::testing {

using naive::numbers;
using Ids = std::vector<std::int64_t>;

inline void enlarge(nn::Module& model) {
  seed(11);
  model.to(Dtype::f64);
  for (const nn::NamedTensor& each : model.parameters()) {
    Tensor p = each.tensor;
    if (each.name.find("norm") == std::string::npos) nn::init::normal_(p, 0, 0.4);
  }
  model.eval();
}

inline nn::GPTOptions tiny() {
  return {.vocab = 13, .context = 24, .layers = 2, .block = {.width = 16, .heads = 4}};
}

inline Tensor ids_of(std::int64_t B, std::int64_t T, std::int64_t first = 0) {
  Ids ids;
  for (std::int64_t i = 0; i < B * T; ++i) ids.push_back((i * i * 7 + i * 3 + first) % 13);
  return tensor(ids, {B, T});
}

/// The values are f64 sums of some tens of terms of order 1, computed by about a dozen ops. 1e-12
/// allows a few thousand rounding errors.
inline void check_equal(const Tensor& got, const Tensor& want) {
  const auto a = numbers(got), b = numbers(want);
  REQUIRE(a.size() == b.size());
  double worst = 0;
  bool finite = true;  // max() skips NaN, such as inf − inf
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(a[i] - b[i]));
    finite = finite && std::isfinite(a[i]) && std::isfinite(b[i]);
  }
  CHECK(worst < 1e-12);
  CHECK(finite);
}

inline nn::GPT made(nn::GPTOptions options) {
  nn::GPT model(options);
  enlarge(model);
  return model;
}

}  // namespace gradus::testing
