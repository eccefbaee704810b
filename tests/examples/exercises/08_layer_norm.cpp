// dx = r (g − mean g − x̂ mean(g x̂)), g = dy w.
#include "gradus/examples/exercises/exercises.h"

namespace gradus::exercises {

Tensors layer_norm_backward(const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& dy) {
  const Tensor centred = x - mean(x, {-1}, true);
  const Tensor r = rsqrt(mean(square(centred), {-1}, true) + 1e-5);  // [3, 1]
  const Tensor normal = centred * r;                                 // x̂ [3, C]
  const Tensor g = dy * w;
  const Tensor dx = r * (g - mean(g, {-1}, true) - normal * mean(g * normal, {-1}, true));
  return {dx, sum_to(dy * normal, w.shape()), sum_to(dy, b.shape())};
}

}  // namespace gradus::exercises
