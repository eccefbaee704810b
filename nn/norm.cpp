#include "gradus/nn/norm.h"

#include "gradus/ops/batch_norm.h"
#include "gradus/ops/create.h"
#include "gradus/ops/normalization.h"

namespace gradus::nn {
namespace {

void check_width(const char* layer, std::int64_t width, double eps) {
  require(width > 0, layer, ": the width must be positive, got ", width);
  require(eps >= 0, layer, ": eps must not be negative, got ", eps);
}

}  // namespace

VectorNorm::VectorNorm(const char* layer, std::int64_t size, NormKind which, NormOptions given)
    : width(size), kind(which), options(given) {
  check_width(layer, width, options.eps);
  if (!options.affine) return;
  weight = parameter(ones({width}));
  if (kind == NormKind::layer) bias = parameter(zeros({width}));
}

/// Checks the width, because without a weight the op accepts any width.
Tensor VectorNorm::normalize(const char* layer, const Tensor& x) const {
  require(x.defined(), layer, ": the input is undefined. Pass a defined tensor.");
  require<ShapeError>(x.rank() >= 1 && x.size(-1) == width, layer, ": the input ", x.shape(),
                      " must end in the layer's width, ", width);
  return kind == NormKind::rms ? rms_norm(x, weight, options.eps)
                               : layer_norm(x, weight, bias, options.eps);
}

BatchNorm1d::BatchNorm1d(std::int64_t width, BatchNormOptions given) : options(given) {
  check_width("BatchNorm1d", width, options.eps);
  require(0 <= options.momentum && options.momentum <= 1,
          "BatchNorm1d: momentum must be in [0, 1], got ", options.momentum);
  running_mean = zeros({width});
  running_var = ones({width});
  if (!options.affine) return;
  weight = parameter(ones({width}));
  bias = parameter(zeros({width}));
}

Tensor BatchNorm1d::forward(const Tensor& x) const {
  return batch_norm(x, weight, bias, running_mean, running_var, training(),
                    {options.momentum, options.eps});
}

}  // namespace gradus::nn
