// explain: what a tensor was computed from, as text.
#pragma once

#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::nn {
class Module;
}

namespace gradus {

/// The recorded formula behind x, from x back to the leaves, one node a line:
///
///   #18 mean(#17)                          []      1.849
///   #17 square(#16)                        [4, 2]
///   #16 linear(#15, #3, #4, constant)      [4, 2]
///   │ #4 leaf down.bias                    [2]     0.04461 … 0.491
///   │ #3 leaf down.weight                  [2, 3]  -0.2931 … 0.4655
///   #15 tanh(#14)                          [4, 3]
///
/// What follows a line at its depth is its input; where there are several, all others are indented,
/// and so are leaves. A node that several use stands below the last of them, once. "constant" is an
/// input that no gradient goes to. Long chains are left out and counted, and so is what exceeds
/// about `lines` lines.
/// Ranges: of x, of parameters of the model, and of gradients that were kept. A trace::Watch that
/// was there in the forward knows all, and the layers.
std::string explain(const Tensor& x, std::size_t lines = 200);
/// The same with the names and ranges of the model's parameters.
std::string explain(const Tensor& x, const nn::Module& model, std::size_t lines = 200);

}  // namespace gradus
