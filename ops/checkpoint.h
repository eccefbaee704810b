#pragma once

#include <concepts>
#include <utility>

#include "gradus/ops/derivatives.h"

namespace gradus {

/// Returns f(inputs) and saves only the inputs; backward runs f again. Needs the memory of one f at
/// a time and a third more arithmetic (Chen et al. 2016).
///
/// Leaves that f uses (parameters) receive their gradients, unless used only inside a parallel_for.
/// The second run draws the same random numbers. Checkpoints can be nested and have derivatives of
/// any order.
///
/// f and its captures are kept until backward, and objects that they refer to must live as long. f
/// must be repeatable: a batch norm would update its running statistics twice. Throws ValueError if
/// f returns no tensor, and GraphError if f uses a tensor computed outside or if the second run
/// returns a different shape or dtype.
Tensor checkpoint(const TensorFunction& f, const std::vector<Tensor>& inputs);

/// Like checkpoint, but passes the inputs as separate arguments:
///   checkpoint([&](const Tensor& x) { … }, x)
template <class F, std::same_as<Tensor>... X>
requires std::invocable<const F&, const X&...> Tensor checkpoint(F f, const X&... x) {
  return checkpoint(TensorFunction([f = std::move(f)](const std::vector<Tensor>& in) -> Tensor {
                      return [&]<std::size_t... i>(std::index_sequence<i...>) {
                        return f(in[i]...);
                      }
                      (std::index_sequence_for<X...>());
                    }),
                    std::vector<Tensor>{x...});
}

}  // namespace gradus
