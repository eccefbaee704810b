// An observer stores the first call of each combination of op, shapes and dtypes. Each stored call
// is repeated in f64 through its node.
#include "gradus/check/graph.h"

#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gradus/check/raw/random.h"
#include "gradus/check/tensor_function.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/base/platform.h"
#include "gradus/engine/node.h"
#include "gradus/engine/observer.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/create.h"
#include "gradus/trace/caller.h"

namespace gradus::check {
namespace {

constexpr std::size_t kSums = 4;  // random weighted sums of each op's result

struct RecordedCall {
  NodePtr node;
  Tensors inputs;
  std::string layer;
  std::vector<void*> stack;
};

/// Stores the calls of one step. Nodes `first` to `last` belong to an earlier step.
class FirstOfEachKind : public Observer {
 public:
  FirstOfEachKind(std::uint64_t first, std::uint64_t last) : first_(first), last_(last) {}

  void on_op_begin(const Op&, std::span<const Tensor* const> inputs) override {
    Tensors kept;  // shares the buffers of the inputs, so that no op overwrites them
    for (const Tensor* x : inputs) kept.push_back(x->detach());
    running_.push_back(std::move(kept));
  }
  void on_op_end(const Op& op, std::span<const Tensor* const>, const Tensor& y) override {
    Tensors inputs = std::move(running_.back());
    running_.pop_back();
    if (!y.node()) return;
    ++nodes;
    for (const NodePtr& from : y.node()->inputs)
      if (from && from->op_name && from->id >= first_ && from->id <= last_)
        stale.emplace(from->id, str_cat(op.name(), " uses the result of ", from->name(), " (node ",
                                        from->id, ") of an earlier step", called_from()));
    std::string kind = str_cat(op.name(), y.shape());
    for (std::size_t i = 0; i < inputs.size(); ++i)
      kind += inputs[i].defined() ? str_cat(inputs[i].shape(), inputs[i].dtype(),
                                            y.node()->inputs[i] ? "wanted" : "")
                                  : "none";
    if (kinds_.insert(kind).second)
      calls.push_back({y.node(), std::move(inputs), current_context(), platform::stack_trace()});
  }
  std::vector<RecordedCall> calls;             // oldest first
  std::map<std::uint64_t, std::string> stale;  // by node: its first use in this step
  std::int64_t nodes = 0;

 private:
  static std::string called_from() {
    const std::string caller = trace::caller_of(platform::stack_trace());
    return caller.empty() ? "" : ", called from " + caller;
  }

  std::uint64_t first_, last_;
  std::vector<Tensors> running_;  // inputs of unfinished ops
  std::set<std::string> kinds_;
};

/// A recorded call as a function with a few outputs: random weighted sums of its result. Non-finite
/// values are not varied. Zeros with gradient 0 are not varied either, because the op may require
/// them (a mask).
class ReplayedCall {
 public:
  ReplayedCall(const RecordedCall& call, std::uint64_t seed) : call_(call) {
    for (const Tensor& x : call.inputs)
      in_.push_back(x.defined() && is_float(x.dtype()) ? kernel::convert(x, Dtype::f64) : x);
    const NoGrad off;
    const Tensor y = run(in_);
    shape_ = y.shape();
    Random random(seed);
    weights_.assign(kSums, numbers(y));
    for (Values& weights : weights_)
      for (double& w : weights) w = std::isfinite(w) ? random.upstream() : 0;
    for (std::size_t k = 0; k < in_.size(); ++k)
      if (call_.node->inputs[k]) moving_.push_back({k, numbers(in_[k]), {}});
    const Arguments dx = gradients(in_, Values(kSums, 1.0));
    for (std::size_t n = 0; n < moving_.size(); ++n)
      for (std::size_t i = 0; i < moving_[n].all.size(); ++i)
        if (const double v = moving_[n].all[i]; std::isfinite(v) && (v != 0 || dx[n][i] != 0))
          moving_[n].free.push_back(i);
  }

  std::vector<Input> inputs() const {
    std::vector<Input> result;
    for (const MovingInput& m : moving_)
      result.push_back({.name = str_cat("input ", m.index, " of ", call_.node->name()),
                        .shape = m.free.size() == m.all.size() ? sizes_of(in_[m.index])
                                                               : Dims{std::ssize(m.free)},
                        .values = m.pick(m.all)});
    return result;
  }

  Functions functions() {
    return {[this](const Arguments& values) { return forward(values); },
            [this](const Arguments& values, const Values& dy) { return vjp(values, dy); }};
  }

  /// Replaces the finding's index among the varied values by its index in the tensor.
  void place(Finding& finding) const {
    const MovingInput& m = moving_[finding.input];
    finding.output.clear();  // the number of a sum means nothing to the reader
    if (finding.at.size() != 1) return;
    finding.at = index_of(m.free[static_cast<std::size_t>(finding.at[0])], sizes_of(in_[m.index]));
  }

 private:
  struct MovingInput {
    std::size_t index;
    Values all;
    std::vector<std::size_t> free;  // indices of the values that are varied

    Values pick(const Values& x) const {
      Values result;
      for (const std::size_t i : free) result.push_back(x[i]);
      return result;
    }
  };

  Tensor run(const Tensors& in) const {
    Tensor y = call_.node->run_again(in);
    require<ValueError>(y.defined(), "cannot be run again");
    return y;
  }

  Tensors moved(const Arguments& values) const {
    Tensors in = in_;
    for (std::size_t n = 0; n < moving_.size(); ++n) {
      const MovingInput& m = moving_[n];
      if (values[n] == m.pick(m.all)) continue;
      Values all = m.all;
      for (std::size_t i = 0; i < m.free.size(); ++i) all[m.free[i]] = values[n][i];
      in[m.index] = tensor(all, in_[m.index].shape());
    }
    return in;
  }

  Values forward(const Arguments& values) const {
    const NoGrad off;
    const Values y = numbers(run(moved(values)));
    Values sums(kSums, 0.0);
    for (std::size_t s = 0; s < kSums; ++s)
      for (std::size_t i = 0; i < y.size(); ++i)
        if (weights_[s][i] != 0) sums[s] += weights_[s][i] * y[i];
    return sums;
  }

  Arguments gradients(const Tensors& at, const Values& dy) const {
    const GradMode on(true);
    Tensors in = at, wanted;
    for (const MovingInput& m : moving_)
      wanted.push_back(in[m.index] = at[m.index].detach().requires_grad_());
    Values sum(weights_[0].size(), 0.0);
    for (std::size_t s = 0; s < kSums; ++s)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += dy[s] * weights_[s][i];
    const Tensor upstream = tensor(sum, shape_);
    Arguments result;
    for (const Tensor& dx : grad(std::vector{run(in)}, wanted, {upstream}, {.allow_unused = true}))
      result.push_back(dx.defined() ? numbers(dx) : Values(moving_[result.size()].all.size(), 0.0));
    return result;
  }

  Arguments vjp(const Arguments& values, const Values& dy) const {
    Arguments dx = gradients(moved(values), dy);
    for (std::size_t n = 0; n < dx.size(); ++n) dx[n] = moving_[n].pick(dx[n]);
    return dx;
  }

  const RecordedCall& call_;
  Tensors in_;  // f64 if floating-point
  Shape shape_;
  Arguments weights_;  // [sum]
  std::vector<MovingInput> moving_;
};

Report check_call(const RecordedCall& call, double seconds, const GraphOptions& options) {
  if (gradus::numel(call.node->shape) == 0) return {};
  ReplayedCall replayed(call, options.seed);
  const RawOptions raw{.seed = options.seed,
                       .rtol = options.rtol,
                       .atol = options.atol,
                       .projections = 4,
                       .seconds = seconds,
                       .neighborhood = false,
                       .outputs_are_sums = true};
  Report report = compare_numbers(call.node->name(), replayed.functions(), replayed.inputs(), raw);
  for (Finding& finding : report.findings) replayed.place(finding);
  return report;
}

Finding finding_of(const RecordedCall& call, const Report& found) {
  Finding result = found.findings.front();
  const std::string caller = trace::caller_of(call.stack);
  result.note = str_cat(call.node->name(), " (node ", call.node->id, ")",
                        call.layer.empty() ? "" : " in " + call.layer,
                        caller.empty() ? "" : ", called from " + caller,
                        ": its derivative is wrong", result.note.empty() ? "" : ". " + result.note);
  for (const InputSummary& input : found.inputs)
    if (!input.cause.name.empty())
      result.note += str_cat(". Likely cause: ", input.cause.name, " - ", input.cause.why);
  result.input = 0;
  return result;
}

FirstOfEachKind recorded(const std::function<Tensor()>& loss) {
  const GradMode on(true);
  const std::uint64_t begin = detail::last_node_id + 1;
  static_cast<void>(loss());
  FirstOfEachKind step(begin, detail::last_node_id);
  const Tensor result = [&] {
    const ObserverScope scope(step);
    return loss();
  }();
  require<ValueError>(result.defined(), "check::graph: loss returns an undefined tensor");
  require<GraphError>(!step.calls.empty(), "check::graph: no op was recorded. A parameter must ",
                      "require a gradient, and the loss must be computed outside NoGrad.");
  return step;
}

}  // namespace

Report graph(const std::function<Tensor()>& loss, const GraphOptions& options, SourceLine place) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const FirstOfEachKind step = recorded(loss);
  Report report;
  report.name = "graph";
  report.place = std::move(place);
  report.seed = options.seed;
  for (const auto& [id, use] : step.stale)
    report.add({.kind = Kind::structure,
                .note = use + ". Gradients reach that step too. Call detach() on what is kept"});
  std::set<std::string> left_out;
  std::size_t looked_at = 0;
  std::int64_t elements = 0, one_by_one = 0;  // large inputs are sampled
  for (std::size_t i = step.calls.size(); i-- > 0;) {
    const RecordedCall& call = step.calls[i];
    const double left = 0.9 * options.seconds - seconds();  // checks may exceed their limit
    if (left <= 0) {
      left_out.insert(str_cat(call.node->name(), " (out of time)"));
      continue;
    }
    try {
      const Report found = check_call(call, left / static_cast<double>(i + 1), options);
      report.counts.add(found.counts);
      report.missed = std::min(1.0, report.missed + found.missed);
      ++looked_at;
      for (const InputSummary& input : found.inputs) {
        elements += input.elements;
        one_by_one += input.looked_at;
      }
      if (found.verdict == Verdict::fail) report.add(finding_of(call, found));
      if (found.verdict == Verdict::inconclusive)
        left_out.insert(str_cat(call.node->name(), " (cannot be measured)"));
    } catch (const Error& error) {
      left_out.insert(str_cat(call.node->name(), " (", error.what(), ")"));
    }
  }
  report.notes.push_back(str_cat("checked ", looked_at, " of ", step.calls.size(),
                                 " distinct ops (", step.nodes, " ops recorded)"));
  if (one_by_one < elements)
    report.notes.push_back(
        str_cat(one_by_one, " of ", elements,
                " elements were checked one by one, all of them along directions"));
  report.notes.push_back(
      str_cat("an entry of an op's Jacobian that is wrong by more than 1e-4 of its "
              "largest would have been missed with a probability of at most ",
              number(std::min(1.0, 1.05 * report.missed), 2)));
  for (const std::string& each : left_out) report.notes.push_back("skipped: " + each);
  if (!left_out.empty()) report.verdict = worse(report.verdict, Verdict::inconclusive);
  return report;
}

}  // namespace gradus::check
