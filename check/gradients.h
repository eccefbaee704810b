// Checks the gradients of a function of tensors, or of a layer.
//
//   const check::Report report = check::gradients(
//       "softmax", [](const std::vector<Tensor>& in) { return softmax(in[0]); }, {x});
//   if (!report) std::cerr << report;
//
// Compares the gradients with finite differences in f64 (check/raw), then tests the conditions of
// condition.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/check/raw/options.h"
#include "gradus/check/raw/report.h"
#include "gradus/engine/tensor.h"
#include "gradus/nn/module.h"

namespace gradus::check {

/// Inputs or gradients of a function under test, in order.
using Tensors = std::vector<Tensor>;

/// The function to check. It must return the same result for the same inputs, with and without
/// recording. Random ops inside the function draw the same values in each call.
using Function = std::function<Tensor(const Tensors&)>;

/// A hand-written backward pass. Maps the inputs and dy to one gradient per input; the gradient is
/// undefined for an input without one.
using Vjp = std::function<Tensors(const Tensors& x, const Tensor& dy)>;

/// Tolerances, sampling and inputs of a check of tensors.
struct Options {
  std::vector<std::string> names = {};    // names of the inputs; default: x0, x1 …
  std::vector<bool> differentiable = {};  // one flag per input; default: true if floating-point
  bool formula = false;          // check the gradients of create_graph, not those of the kernels
  double rtol = 1e-7;            // relative to the derivative
  double atol = 1e-9;            // relative to the element's largest derivative
  std::uint64_t seed = 0x5eed;   // seed of upstream gradients and random ops
  bool conditions = true;        // false: compare with finite differences only
  Mode mode = Mode::automatic;   // large Jacobians are sampled
  std::vector<Kink> kinks = {};  // points with a conventional derivative
  Tensor upstream = {};          // an additional upstream gradient
  std::vector<Tensors> refused = {};  // inputs for which f must throw
  /// f32: also runs f and its gradients in f32 and compares them with f64, up to rounding errors.
  /// f64: never runs in f32. Default: f32 if any input is f32.
  std::optional<Dtype> dtype = {};
  double seconds = 0;                // > 0: time limit
  std::int64_t backward_bytes = -1;  // >= 0: most that backward may allocate at a time, for f64
  bool smallest = true;              // after a failure, find smaller failing inputs
};

/// Compares the gradients of f at `inputs` with finite differences, for random upstream gradients.
/// Floating-point inputs are converted to f64; i64 and bool inputs are passed unchanged.
///
/// CI shows the report at `place`, the caller's line by default (Report::sarif()).
///
/// Throws DtypeError if f does not return f64, and ValueError if no input is differentiable or the
/// options do not match the inputs. Exceptions of f at `inputs` propagate.
Report gradients(std::string_view name, const Function& f, const Tensors& inputs,
                 const Options& options = {}, SourceLine place = SourceLine::current());
Report gradients(const Function& f, const Tensors& inputs, const Options& options = {},
                 SourceLine place = SourceLine::current());

/// Checks a hand-written backward pass like gradients().
Report vjp(std::string_view name, const Function& forward, const Vjp& backward,
           const Tensors& inputs, const Options& options = {},
           SourceLine place = SourceLine::current());

/// Checks second derivatives: for random w and u, compares the gradients of g(x, w) = ⟨u, ∂⟨w,
/// f(x)⟩/∂x⟩ with respect to x and w with finite differences of g.
Report second(std::string_view name, const Function& f, const Tensors& inputs,
              const Options& options = {}, SourceLine place = SourceLine::current());
Report second(std::string_view name, const Function& forward, const Vjp& backward,
              const Tensors& inputs, const Options& options = {},
              SourceLine place = SourceLine::current());

/// Checks all parameters of m and all inputs like gradients(); f calls m. During the check, m has
/// f64 or f32 copies of its parameters and buffers. The originals are restored, even after an
/// exception. options.names, .differentiable, .kinks and .refused refer only to the inputs.
Report module(nn::Module& m, const Function& f, const Tensors& inputs, const Options& options = {},
              SourceLine place = SourceLine::current());

/// Checks a layer with one argument.
template <std::derived_from<nn::Module> M>
Report module(M& m, const Tensor& x, const Options& options = {},
              SourceLine place = SourceLine::current()) {
  return module(
      m, [&m](const Tensors& in) { return m(in[0]); }, {x}, options, std::move(place));
}

}  // namespace gradus::check
