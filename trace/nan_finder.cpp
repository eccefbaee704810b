// Checks each result. Reports a non-finite value at once, or stores its origin and reports it with
// a non-finite loss or gradient.
#include "gradus/trace/nan_finder.h"

#include <algorithm>
#include <string_view>

#include "gradus/engine/base/environment.h"
#include "gradus/engine/base/platform.h"
#include "gradus/engine/node.h"
#include "gradus/trace/caller.h"

namespace gradus::trace {
namespace {

constexpr std::size_t kMostNodes = 1 << 17;  // forward results; the oldest are dropped

std::string with_range(const Tensor& x) { return str_cat(x.shape(), " ", to_string(range_of(x))); }

/// Returns "[4, 2] 0 … 1 and [2] 0".
std::string with_ranges(std::span<const Tensor* const> inputs) {
  std::vector<std::string> each;
  for (const Tensor* x : inputs)
    if (x->defined()) each.push_back(with_range(*x));
  std::string out;
  for (std::size_t i = 0; i < each.size(); ++i)
    out += (i == 0 ? "" : i + 1 == each.size() ? " and " : ", ") + each[i];
  return out;
}

struct Inputs {
  bool nan = false, inf = false;
  explicit Inputs(std::span<const Tensor* const> inputs) {
    for (const Tensor* x : inputs) {
      const ValueRange range = range_of(*x);
      nan = nan || range.nans > 0;
      inf = inf || range.infs() > 0;
    }
  }
  bool finite() const { return !nan && !inf; }
};

/// True if the op produced the NaN or infinity in y.
bool made_it(const ValueRange& y, const Inputs& inputs) {
  return (y.nans > 0 && !inputs.nan) || inputs.finite();
}

/// True for intended values: −∞ is 0 in log space, and callers choose the value of masked_fill.
bool is_meant(std::string_view op, const ValueRange& y) {
  return y.nans == 0 && (op == "masked_fill" || op == "log" || op == "log1p");
}

std::string in_layer(const std::string& layer) { return layer.empty() ? "" : " in " + layer; }

std::string called_at(const std::vector<void*>& calls) {
  const std::string caller = caller_of(calls);
  return caller.empty() ? "" : ", called from " + caller;
}

}  // namespace

NanFinder::NanFinder(Reporter report) : report_(std::move(report)), scope_(*this) {}

void NanFinder::tell(const std::string& what) {
  found_ = true;
  made_.clear();
  origins_.clear();
  const std::string message = step_ < 0 ? what : str_cat("step ", step_, ": ", what);
  if (!report_) throw NanError(message);
  const std::string where = current_context();
  report_(where.empty() ? message : message + " (in " + where + ")");
}

std::string NanFinder::origin_of(const Op& op, std::span<const Tensor* const> inputs) const {
  const auto bad = std::find_if(inputs.begin(), inputs.end(),
                                [](const Tensor* x) { return !range_of(*x).all_finite(); });
  const std::string what = op.name() + in_layer(current_context()) + ", ";
  if (bad == inputs.end()) return what + "from " + with_ranges(inputs);
  if (const std::string* origin = origins_.of(**bad)) return *origin;
  return str_cat("input ", bad - inputs.begin(), " of ", what, with_range(**bad),
                 ", which was not finite before it");
}

void NanFinder::on_op_end(const Op& op, std::span<const Tensor* const> inputs, const Tensor& y) {
  if (found_ || thread_state.parallel || !is_float(y.dtype())) return;
  if (thread_state.backward) return look_inside_backward(op, inputs, y);
  const ValueRange range = range_of(y);
  std::string origin;
  if (!range.all_finite()) {
    const Inputs in(inputs);
    origin = origin_of(op, inputs);
    if (made_it(range, in) && !is_meant(op.name(), range))
      return tell(str_cat(op.name(), " made ", y.shape(), " ", to_string(range), ", from ",
                          with_ranges(inputs),
                          in.finite() ? "" : "; the infinity came from " + origin,
                          y.node() ? str_cat(" (node ", y.node()->id, ")") : "",
                          called_at(platform::stack_trace())));
    origins_.note(y, origin);
  }
  if (!y.node()) return;
  made_[y.node()->id] = {current_context(), with_ranges(inputs), origin, platform::stack_trace()};
  if (made_.size() > kMostNodes) made_.erase(made_.begin());
}

/// A backward function may discard intermediate results, so only returned gradients count. Stores
/// the first inner op that produces NaN or infinity, for the report.
void NanFinder::look_inside_backward(const Op& op, std::span<const Tensor* const> inputs,
                                     const Tensor& y) {
  if (visits_.empty() || !visits_.back().inside.empty()) return;
  const ValueRange range = range_of(y);
  if (!range.all_finite() && made_it(range, Inputs(inputs)))
    visits_.back().inside = str_cat("; inside it ", op.name(), " made ", y.shape(), " ",
                                    to_string(range), " from ", with_ranges(inputs));
}

std::string NanFinder::forward_of(const Node& node) const {
  const auto at = made_.find(node.id);
  if (at == made_.end()) return str_cat(node.name(), " (node ", node.id, ")");
  return str_cat(node.name(), in_layer(at->second.layer), " (node ", node.id, ", made from ",
                 at->second.inputs, called_at(at->second.calls), ")");
}

void NanFinder::on_backward_begin(const Node& node, const Tensor& dy) {
  if (found_ || thread_state.parallel) return;
  const bool first = fresh_ || node.id >= last_visit_;
  fresh_ = false;
  last_visit_ = node.id;
  const auto at = made_.find(node.id);
  if (first && numel(node.shape) == 1 && at != made_.end() && !at->second.origin.empty())
    return tell(str_cat("the loss, ", forward_of(node), ", is not finite; this began with ",
                        at->second.origin));
  if (!range_of(dy).all_finite())
    return tell(str_cat("the gradient that reached ", forward_of(node), " is ", with_range(dy),
                        first ? "; it was passed to backward()"
                              : "; its summands were finite, but the sum is not, or a hook "
                                "changed it"));
  visits_.push_back({node.id, with_range(dy), ""});
}

void NanFinder::on_backward_end(const Node& node, const Gradients& dx) {
  if (found_ || thread_state.parallel) return;
  Visit visit;
  if (!visits_.empty() && visits_.back().node == node.id) {
    visit = std::move(visits_.back());
    visits_.pop_back();
  }
  for (std::size_t k = 0; k < dx.size(); ++k) {
    if (!range_of(dx[k].part()).all_finite())
      return tell(str_cat("backward of ", forward_of(node), " gave ", with_range(dx[k].part()),
                          " for its input ", k, ", from dy ", visit.dy, visit.inside));
  }
  made_.erase(node.id);
}

void NanFinder::on_leaf_accumulate(const Node& leaf, const Tensor& grad) {
  fresh_ = true;
  if (found_ || thread_state.parallel || range_of(grad).all_finite()) return;
  tell(str_cat(
      "the gradient of leaf ", leaf.id, " ", leaf.shape, " is ", to_string(range_of(grad)),
      "; its summands were finite, but the sum is not, or it was not finite before this backward "
      "(call zero_grad() before each step)"));
}

bool check_nan_from_env() {
  if (!environment::is_on(environment::Variable::check_nan)) return false;
  static thread_local std::unique_ptr<NanFinder> finder;
  if (!finder && !thread_state.observer) finder = std::make_unique<NanFinder>();
  return finder != nullptr;
}

}  // namespace gradus::trace
