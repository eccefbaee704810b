// NanFinder: which operation made the first NaN or infinity.
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

/// An operation made NaN or infinity from finite numbers. In a debugger `catch throw` stops where
/// that was: the frames above are its caller, in the forward.
class NanError : public Error {
  using Error::Error;
};

/// While one of these lives, every result and gradient of this thread is looked at, and the first
/// operation that makes NaN or infinity from finite numbers is reported with its inputs' shapes and
/// ranges, its layer, its node: by NanError, or by a call of `report`, once.
///
///   const trace::NanFinder finder;          // or GRADUS_CHECK_NAN=1
///   model.loss(x, y).backward();            // NanError: divide made [2] 0, 1 nan of 2, from …
///
/// The report ends with the file and line of the user's code that called the operation, where that
/// was built with -g (cmake --preset debug) and addr2line is installed; else with what is known.
/// Reported: NaN from inputs without NaN; ±∞ from finite inputs; a gradient that is not finite
/// where what arrived was; gradients that overflow when they are added up.
/// Not reported by themselves: masked_fill with ±∞ and log 0 = −∞ (that is how log space writes 0),
/// what was not finite when it came in (a mask as bias of −∞, data), and what stays inside one
/// operation's backward. They are named as the origin when the loss or a gradient comes out bad.
/// Operations inside a parallel_for are not looked at. Costs some passes over all numbers.
class NanFinder final : public Observer {
 public:
  using Reporter = std::function<void(const std::string&)>;
  [[nodiscard]] explicit NanFinder(Reporter report = {});
  NanFinder(const NanFinder&) = delete;
  NanFinder& operator=(const NanFinder&) = delete;

  void set_step(std::int64_t step) { step_ = step; }  // to be named in the report
  bool found() const { return found_; }

  void on_op_end(const Op& op, std::span<const Tensor* const> inputs, const Tensor& y) override;
  void on_backward_begin(const Node& node, const Tensor& dy) override;
  void on_backward_end(const Node& node, const Gradients& dx) override;
  void on_leaf_accumulate(const Node& leaf, const Tensor& grad) override;

 private:
  struct Made {  // what the report of a node's backward will want to know of its forward
    std::string layer, inputs, origin;
    std::vector<void*> calls;  // what called it
  };
  struct Visit {  // a backward under way
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
  bool fresh_ = true;             // the next on_backward_begin is a walk's first
  std::uint64_t last_visit_ = 0;  // ids fall within a walk
  std::map<std::uint64_t, Made> made_;
  Provenance<std::string> origins_;  // of what is not finite
  std::vector<Visit> visits_;
  ObserverScope scope_;
};

/// Attaches a NanFinder to this thread for good if the environment says GRADUS_CHECK_NAN=1; not
/// where an observer is attached already. True: it is there. Called before main() by every program
/// that includes this header, as <gradus/gradus.h> does.
bool check_nan_from_env();
inline const bool nan_is_checked = check_nan_from_env();

}  // namespace gradus::trace
