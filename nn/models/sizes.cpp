// Counts follow the members of nn/block.h: C width, G heads of keys and values, F hidden.
#include "gradus/nn/models/sizes.h"

namespace gradus::nn {
namespace {

double attention_count(const BlockOptions& o) {
  const auto C = static_cast<double>(o.width), H = static_cast<double>(o.heads);
  const double D = o.head_width ? static_cast<double>(*o.head_width) : C / H;
  const double rows = (H + 2 * static_cast<double>(o.kv_heads.value_or(o.heads))) * D;
  const double biases =
      (o.qkv_bias.value_or(o.bias) ? rows : 0) + (o.out_bias.value_or(o.bias) ? C : 0);
  const double relative =
      o.position == HeadPosition::relative ? static_cast<double>(RelativeBuckets{}.count) * H : 0;
  return rows * C + H * D * C + biases + (o.qk_norm ? 2 * D : 0) + relative;
}

double feed_forward_count(const BlockOptions& o) {
  const auto C = static_cast<double>(o.width);
  const double F = o.hidden ? static_cast<double>(*o.hidden) : 4 * C;
  const double columns = o.activation == Activation::swiglu ? 2 : 1;
  return C * F * (columns + 1) + (o.bias ? columns * F + C : 0);
}

}  // namespace

double norm_count(double width, NormKind kind) {
  return kind == NormKind::layer ? 2 * width : width;
}

double block_count(const BlockOptions& o) {
  return attention_count(o) + feed_forward_count(o) +
         2 * norm_count(static_cast<double>(o.width), o.norm_kind);
}

}  // namespace gradus::nn
