// Are the gradients of a function of tensors, or of a layer, its derivatives?
//
//   const check::Report report = check::gradients(
//       "softmax", [](const std::vector<Tensor>& in) { return softmax(in[0]); }, {x});
//   if (!report) std::cerr << report;
//
// Everything runs in f64: differences of f32 values would see three digits. The numbers are
// measured and judged by check/raw, which explains how; here tensors become numbers and back.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/check/raw/report.h"
#include "gradus/engine/tensor.h"
#include "gradus/nn/module.h"

namespace gradus::check {

using core::Report;   // converts to true if every gradient is right; prints what is not
using core::Verdict;  // pass, fail, or inconclusive: the derivative cannot be measured there

/// Called often: it must give the same for the same inputs. Random ops inside draw the same numbers
/// each time (it runs with a Generator of the check's own).
using Function = std::function<Tensor(const std::vector<Tensor>&)>;

struct Options {
  std::vector<std::string> names = {};    // of the inputs; empty: x0, x1 …
  std::vector<bool> differentiable = {};  // of each input; empty: the floating-point ones
  bool formula = false;  // take the gradients that create_graph records, not those of the kernels
  bool second = false;   // check the gradient's own gradients instead, by the inputs and upstream
  double rtol = 1e-7;    // of the derivative
  double atol = 1e-9;    // of the largest derivative by the same input
  std::uint64_t seed = 0x5eed;  // of the upstream gradients, and of random ops inside
};

/// Compares the gradients of f at `inputs` with differences of f. Floating-point inputs are
/// converted to f64 and become leaves; i64 and bool ones are handed through. The upstream
/// gradients are random.
///
/// With `second`, for one random upstream gradient w and one random u, the gradients by x and by w
/// of g(x, w) = ⟨u, ∂⟨w, f(x)⟩/∂x⟩ are compared with differences of g.
///
/// DtypeError when f does not return f64; ValueError when nothing is differentiable or options do
/// not fit the inputs; what f itself throws at `inputs` passes through.
Report gradients(std::string_view name, const Function& f, const std::vector<Tensor>& inputs,
                 const Options& options = {});
Report gradients(const Function& f, const std::vector<Tensor>& inputs, const Options& options = {});

/// The same by every parameter of m and every input, each by its name. f calls m with the inputs.
/// While it runs, m holds f64 copies of its parameters and buffers; afterwards its own again,
/// whatever happens. options.names and .differentiable are those of the inputs alone.
Report module(nn::Module& m, const Function& f, const std::vector<Tensor>& inputs,
              const Options& options = {});

/// For a layer of one argument: module(layer, x).
template <std::derived_from<nn::Module> M>
Report module(M& m, const Tensor& x, const Options& options = {}) {
  return module(
      m, [&m](const std::vector<Tensor>& in) { return m(in[0]); }, {x}, options);
}

}  // namespace gradus::check
