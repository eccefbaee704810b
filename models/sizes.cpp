// Counts follow the members of nn/block.h: C width, G heads of keys and values, F hidden.
#include "gradus/models/sizes.h"

namespace gradus::nn {
namespace {

double attention_count(const BlockOptions& o) {
  const auto C = static_cast<double>(o.width), H = static_cast<double>(o.heads);
  const double keys = static_cast<double>(o.kv_heads.value_or(o.heads)) * (C / H);  // G · D
  const double biases = o.bias ? 2 * C + 2 * keys : 0;
  const double relative =
      o.position == HeadPosition::relative ? static_cast<double>(RelativeBuckets{}.count) * H : 0;
  return 2 * C * C + 2 * C * keys + biases + relative;
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
