// Block: self-attention and a feed-forward net, each around a residual connection.
#pragma once

#include "gradus/nn/attention.h"
#include "gradus/nn/dropout.h"
#include "gradus/nn/feed_forward.h"
#include "gradus/nn/norm.h"

namespace gradus::nn {

enum class NormPlacement { pre, post };

struct BlockOptions {
  std::int64_t width = 0, heads = 1;
  std::int64_t hidden = 0;  // of the feed-forward net; 0: 4 · width
  double dropout = 0;       // on attention weights and on both branches
  bool bias = true;
  Activation activation = Activation::gelu;
  NormPlacement norm = NormPlacement::pre;
};

/// pre:   x = x + attention(norm1(x));   x = x + feed_forward(norm2(x))    (Xiong et al. 2020)
/// post:  x = norm1(x + attention(x));   x = norm2(x + feed_forward(x))    (Vaswani et al. 2017)
/// [B, T, C] → [B, T, C]. Dropout acts on what each branch adds.
class Block : public Layer<Block> {
 public:
  explicit Block(const BlockOptions& options);
  Tensor forward(const Tensor& x, const Mask& mask = {}) const;
  Members members() override {
    return {{"norm1", norm1},
            {"attention", attention},
            {"norm2", norm2},
            {"feed_forward", feed_forward}};
  }
  Block blank() const { return Block(options); }

  BlockOptions options;
  LayerNorm norm1, norm2;
  MultiHeadAttention attention;
  FeedForward feed_forward;

 private:
  Tensor add_attention(const Tensor& residual, const Tensor& x, const Mask& mask) const;
  Tensor add_feed_forward(const Tensor& residual, const Tensor& x) const;
};

}  // namespace gradus::nn
