#include "gradus/nn/embedding.h"

#include "gradus/nn/init.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/linear.h"

namespace gradus::nn {

Embedding::Embedding(std::int64_t vocab, std::int64_t width, EmbeddingOptions given)
    : options(given) {
  require(vocab > 0 && width > 0, "Embedding: sizes must be positive, got vocab = ", vocab,
          ", width = ", width);
  const std::int64_t padding = options.padding_idx.value_or(0);
  require(0 <= padding && padding < vocab, "Embedding: padding_idx must be in [0, ", vocab,
          "), got ", padding);
  weight = parameter(Tensor::empty({vocab, width}, default_dtype()));
  init::normal_(weight);
  if (options.padding_idx) weight.detach()[padding].fill_(0);  // [width], a view
}

Tensor Embedding::forward(const Tensor& ids) const {
  return provider ? provider->embedding(weight, ids, options.padding_idx)
                  : embedding(weight, ids, options.padding_idx);  // [...] → [..., width]
}

Tensor Embedding::project(const Tensor& x, const Tensor& bias) const {
  return provider ? provider->linear(x, weight, bias) : linear(x, weight, bias);
}

}  // namespace gradus::nn
