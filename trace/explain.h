#pragma once

#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::nn {
class Module;
}

namespace gradus {

/// Prints the recorded formula that produced x, one node per line:
///
///   #18 mean(#17)                          []      1.849
///   #17 square(#16)                        [4, 2]
///   #16 linear(#15, #3, #4, constant)      [4, 2]
///   │ #4 leaf down.bias                    [2]     0.04461 … 0.491
///   │ #3 leaf down.weight                  [2, 3]  -0.2931 … 0.4655
///   #15 tanh(#14)                          [4, 3]
///
/// The next line at the same depth is an input; other inputs and leaves are indented. Each node
/// appears once, after its last use. A "constant" receives no gradient. Long chains, and output
/// beyond about `lines` lines, are summarized. Ranges are available for x, the model's parameters
/// and retained gradients. If a trace::Watch was alive, the output shows all ranges and the layers.
std::string explain(const Tensor& x, std::size_t lines = 200);
/// Overload that adds names and ranges of the model's parameters.
std::string explain(const Tensor& x, const nn::Module& model, std::size_t lines = 200);

}  // namespace gradus
