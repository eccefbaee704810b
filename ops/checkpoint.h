// Checkpoints: forward again instead of remembering.
#pragma once

#include <concepts>
#include <utility>

#include "gradus/ops/derivatives.h"

namespace gradus {

/// f(inputs), of whose computation nothing is kept but the inputs: backward runs f again, recorded,
/// and goes through that. Memory falls to that of one f at a time, for a third more arithmetic
/// (Chen et al. 2016).
///
/// The leaves that f reaches besides (a module's parameters) are found and get their gradients,
/// but for those that it uses only inside a parallel_for.
/// The second run draws the same random numbers, so dropout hides the same. Checkpoints may stand
/// inside others, and have derivatives of any order, each a checkpoint again.
///
/// f is kept until backward, with what it captures: what it refers to must live as long. It must
/// do the same when it is run again; a batch norm's running statistics move twice.
/// ValueError for an f that gives no tensor; GraphError for one that uses a tensor computed outside
/// (hand it in among the inputs), or that gives something else the second time.
Tensor checkpoint(const TensorFunction& f, const std::vector<Tensor>& inputs);

/// The same with the inputs as f's own arguments: checkpoint([&](const Tensor& x) { … }, x).
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
