// Embedding: how it starts, and the call of ops/indexing.h.
#include "gradus/nn/embedding.h"

#include "gradus/nn/init.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/linear.h"

namespace gradus::nn {

Embedding::Embedding(std::int64_t vocab, std::int64_t width, EmbeddingOptions given)
    : options(given) {
  require(vocab > 0 && width > 0, "Embedding: sizes must be positive, not vocab = ", vocab,
          ", width = ", width);
  require(-1 <= options.padding_id && options.padding_id < vocab, "Embedding: padding_id ",
          options.padding_id, " is not in [0, ", vocab, "); -1 means that there is none");
  weight = parameter(Tensor::empty({vocab, width}, default_dtype()));
  init::normal_(weight);
  if (options.padding_id < 0) return;
  Tensor padding = weight.detach()[options.padding_id];  // [width], a view
  padding.fill_(0);
}

Embedding Embedding::blank() const {
  require<GraphError>(!packed.defined(),
                      "Embedding: a packed layer cannot be cloned: clone, then pack");
  return {weight.size(0), weight.size(1), options};
}

Tensor Embedding::project(const Tensor& x, const Tensor& bias) const {
  return packed.defined() ? linear(x, packed, bias) : linear(x, weight, bias);
}

Tensor Embedding::forward(const Tensor& ids) const {
  if (packed.defined()) return embedding(packed, ids);
  return embedding(weight, ids, options.padding_id);  // [...] → [..., width]
}

}  // namespace gradus::nn
