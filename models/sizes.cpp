// Counts follow the members of nn/block.h: C width, G heads of keys and values, F hidden.
#include "gradus/models/sizes.h"

#include <cmath>
#include <limits>

#include "gradus/base/platform.h"

namespace gradus::nn {
namespace {

double attention_count(const BlockOptions& o, HeadPosition position) {
  const auto C = static_cast<double>(o.width), H = static_cast<double>(o.heads);
  const double keys = (o.kv_heads > 0 ? static_cast<double>(o.kv_heads) : H) * (C / H);  // G · D
  const double biases = o.bias ? 2 * C + 2 * keys : 0;
  const double relative =
      position == HeadPosition::relative ? static_cast<double>(RelativeBuckets{}.count) * H : 0;
  return 2 * C * C + 2 * C * keys + biases + relative;
}

double feed_forward_count(const BlockOptions& o) {
  const auto C = static_cast<double>(o.width);
  const double F = o.hidden > 0 ? static_cast<double>(o.hidden) : 4 * C;
  const double columns = o.activation == Activation::swiglu ? 2 : 1;
  return C * F * (columns + 1) + (o.bias ? columns * F + C : 0);
}

}  // namespace

double linear_count(double in, double out) { return in * out + out; }

double norm_count(double width, NormKind kind) {
  return kind == NormKind::layer ? 2 * width : width;
}

double block_count(const BlockOptions& o) {
  return attention_count(o, o.position) + feed_forward_count(o) +
         2 * norm_count(static_cast<double>(o.width), o.norm_kind);
}

double decoder_block_count(const BlockOptions& o) {
  return block_count(o) + attention_count(o, HeadPosition::none) +
         norm_count(static_cast<double>(o.width), o.norm_kind);
}

void check_sizes(const char* model, const std::vector<std::pair<const char*, std::int64_t>>& sizes,
                 double count) {
  for (const auto& [name, size] : sizes)
    require(0 < size && size <= std::numeric_limits<std::int32_t>::max(), model, ": ", size, " ",
            name, ": must be positive, and below 2^31");
  const double bytes = count * static_cast<double>(size_of(default_dtype()));
  const auto machine = static_cast<double>(platform::physical_memory());
  require<MemoryError>(machine == 0 || bytes <= machine, model, ": ", count, " parameters are ",
                       bytes, " bytes, but this process may have ", machine,
                       ": make it narrower, or give it fewer layers");
}

}  // namespace gradus::nn
