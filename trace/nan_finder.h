// NanFinder: reports the op that produced the first NaN or infinity.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gradus/engine/observer.h"
#include "gradus/trace/provenance.h"
#include "gradus/trace/range.h"

namespace gradus::trace {

/// An op produced NaN or infinity from finite values. In a debugger, `catch throw` stops in the op,
/// with its caller on the stack.
class NanError : public Error {
  using Error::Error;
};

/// While alive, checks every result and gradient of this thread. Reports the first op that produces
/// NaN or infinity from finite values, with its inputs' shapes and ranges, layer and node. Throws
/// NanError, or calls `report` once.
///
///   const trace::NanFinder finder;          // or GRADUS_CHECK_NAN=1
///   model.loss(x, y).backward();            // NanError: divide made [2] 0, 1 nan of 2, from …
///
/// The report ends with the file and line of the caller in user code, if it was built with -g
/// (cmake --preset debug) and addr2line is installed.
///
/// Reported: NaN from inputs without NaN, ±∞ from finite inputs, non-finite gradients from finite
/// upstream gradients, and overflow when gradients are added up.
///
/// Not reported by themselves: masked_fill with ±∞, log 0 = −∞ (zero in log space), values that
/// were not finite from the start (a −∞ mask as bias, data), and values inside one op's backward.
/// They are named as the origin if the loss or a gradient is not finite.
///
/// Ops inside a parallel_for are not checked. Costs a few passes over all values.
class NanFinder final : public Observer {
 public:
  using Reporter = std::function<void(const std::string&)>;
  [[nodiscard]] explicit NanFinder(Reporter report = {});
  NanFinder(const NanFinder&) = delete;
  NanFinder& operator=(const NanFinder&) = delete;

  void set_step(std::int64_t step) { step_ = step; }  // shown in the report
  bool found() const { return found_; }

  void on_op_end(const Op& op, std::span<const Tensor* const> inputs, const Tensor& y) override;
  void on_backward_begin(const Node& node, const Tensor& dy) override;
  void on_backward_end(const Node& node, const Gradients& dx) override;
  void on_leaf_accumulate(const Node& leaf, const Tensor& grad) override;

 private:
  struct Made {  // about a node's forward, for the report of its backward
    std::string layer, inputs, origin;
    std::vector<void*> calls;  // stack trace
  };
  struct Visit {  // a running backward
    std::uint64_t node;
    std::string dy, inside;
  };

  void look_inside_backward(const Op& op, std::span<const Tensor* const> inputs, const Tensor& y);
  std::string origin_of(const Op& op, std::span<const Tensor* const> inputs) const;
  std::string forward_of(const Node& node) const;
  void tell(const std::string& what);

  Reporter report_;
  std::int64_t step_ = -1;
  bool found_ = false;
  bool fresh_ = true;             // the next on_backward_begin is the first of its pass
  std::uint64_t last_visit_ = 0;  // ids decrease during a pass
  std::map<std::uint64_t, Made> made_;
  Provenance<std::string> origins_;  // of non-finite values
  std::vector<Visit> visits_;
  ObserverScope scope_;
};

/// Attaches a NanFinder to this thread permanently if GRADUS_CHECK_NAN=1, unless it already has an
/// observer. Returns true if attached. Runs before main() in programs that include this header, as
/// <gradus/gradus.h> does.
bool check_nan_from_env();
inline const bool nan_is_checked = check_nan_from_env();

}  // namespace gradus::trace
