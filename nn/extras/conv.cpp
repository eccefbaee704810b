#include "gradus/nn/extras/conv.h"

#include <cmath>

#include "gradus/nn/init.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::nn {

Conv1d::Conv1d(std::int64_t in, std::int64_t out, std::int64_t kernel,
               const Conv1dLayerOptions& given)
    : options(given) {
  require(in > 0 && out > 0 && kernel > 0, "Conv1d: sizes must be positive, got in = ", in,
          ", out = ", out, ", kernel = ", kernel);
  require(options.groups > 0 && in % options.groups == 0 && out % options.groups == 0,
          "Conv1d: ", options.groups, " groups do not divide ", in, " and ", out,
          " channels. Choose groups that divide both.");
  require(!options.causal || options.padding == 0,
          "Conv1d: padding must be 0 if causal, because causal pads the start, got ",
          options.padding);
  weight = parameter(Tensor::empty({out, in / options.groups, kernel}, default_dtype()));
  const double bound = 1 / std::sqrt(static_cast<double>(init::fan_of(weight, init::Fan::in)));
  init::uniform_(weight, -bound, bound);
  if (!options.bias) return;
  bias = parameter(Tensor::empty({out}, default_dtype()));
  init::uniform_(bias, -bound, bound);
}

Tensor Conv1d::forward(const Tensor& x) const {
  const std::int64_t before = options.causal ? options.dilation * (weight.size(2) - 1) : 0;
  const Tensor from = before > 0 ? pad(x, 2, before, 0) : x;  // [B, in, before + L]
  return conv1d(from, weight, bias,
                {.stride = options.stride,
                 .dilation = options.dilation,
                 .padding = options.padding,
                 .groups = options.groups});  // [B, out, Lout]
}

}  // namespace gradus::nn
