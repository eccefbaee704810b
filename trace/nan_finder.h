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

/// Thrown when an op produces the first NaN or infinity. In a debugger, `catch throw` stops in that
/// op.
class NanError : public Error {
  using Error::Error;
};

/// While alive, checks every result and gradient of this thread. Reports the first op that produces
/// NaN or infinity from finite values, with its layer, node, and the shapes and ranges of its
/// inputs. Throws NanError, or calls `report` once.
///
///   const trace::NanFinder finder;          // or GRADUS_CHECK_NAN=1
///   model.loss(x, y).backward();            // NanError: divide made [2] 0, 1 nan of 2, from …
///
/// The report includes the calling line if the program is built with -g (cmake --preset debug) and
/// addr2line is installed.
///
/// Reported: NaN from inputs without NaN, ±∞ from finite inputs, non-finite gradients from finite
/// ones, and overflow in sums of gradients.
///
/// Reported only as the origin of a non-finite loss or gradient: masked_fill with ±∞, log 0 = −∞
/// (zero in log space), inputs that are not finite (a −∞ mask, data), and values inside an op's
/// backward function.
///
/// Ops inside a parallel_for are not checked. The checks cost a few passes over all values.
class NanFinder final : public Observer {
 public:
  using Reporter = std::function<void(const std::string&)>;
  [[nodiscard]] explicit NanFinder(Reporter report = {});
  NanFinder(const NanFinder&) = delete;
  NanFinder& operator=(const NanFinder&) = delete;

  void set_step(std::int64_t step) { step_ = step; }  // step number for the report
  bool found() const { return found_; }

  void on_op_end(const Op& op, std::span<const Tensor* const> inputs, const Tensor& y) override;
  void on_backward_begin(const Node& node, const Tensor& dy) override;
  void on_backward_end(const Node& node, const Gradients& dx) override;
  void on_leaf_accumulate(const Node& leaf, const Tensor& grad) override;

 private:
  struct Made {  // result of a node's forward pass
    std::string layer, inputs, origin;
    std::vector<void*> calls;
  };
  struct Visit {  // a running backward function
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
  bool fresh_ = true;             // the next on_backward_begin is the first of a pass
  std::uint64_t last_visit_ = 0;  // ids decrease during a pass
  std::map<std::uint64_t, Made> made_;
  Provenance<std::string> origins_;  // origins of non-finite values
  std::vector<Visit> visits_;
  ObserverScope scope_;
};

/// Attaches a NanFinder permanently and returns true if GRADUS_CHECK_NAN=1 and there is no
/// observer. Runs before main() in programs that include this header.
bool check_nan_from_env();
inline const bool nan_is_checked = check_nan_from_env();

}  // namespace gradus::trace
