// Each operation of a step, run again by its node with the inputs that an observer kept.
#include "gradus/check/graph.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gradus/base/platform.h"
#include "gradus/check/tensor_function.h"
#include "gradus/engine/node.h"
#include "gradus/engine/observer.h"
#include "gradus/trace/caller.h"

namespace gradus::check {
namespace {

/// An operation that was recorded, with what it was called with.
struct Call {
  NodePtr node;
  Tensors inputs;
  std::string layer;
  std::vector<void*> calls;
};

/// Keeps the first call of each kind: an operation with inputs and a result of these shapes.
class FirstOfEachKind : public Observer {
 public:
  void op_begin(const Op&, std::span<const Tensor* const> inputs) override {
    Tensors kept;  // from here on nothing is written over them
    for (const Tensor* x : inputs) kept.push_back(x->defined() ? x->detach() : Tensor());
    running_.push_back(std::move(kept));
  }
  void op_end(const Op& op, std::span<const Tensor* const>, const Tensor& y) override {
    Tensors inputs = std::move(running_.back());
    running_.pop_back();
    if (!y.node()) return;
    ++nodes;
    std::string kind = str_cat(op.name(), y.shape());
    for (std::size_t i = 0; i < inputs.size(); ++i)
      kind += inputs[i].defined() ? str_cat(inputs[i].shape(), inputs[i].dtype(),
                                            y.node()->inputs[i] ? "wanted" : "")
                                  : "none";
    if (kinds_.insert(kind).second)
      calls.push_back({y.node(), std::move(inputs), where_am_i(), platform::calls()});
  }
  std::vector<Call> calls;  // oldest first
  std::int64_t nodes = 0;

 private:
  std::vector<Tensors> running_;  // inputs of what has begun
  std::set<std::string> kinds_;
};

/// A call's defined inputs, which are those of its check; they stand at `places`.
struct Again {
  explicit Again(const Call& call) : all(call.inputs) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].defined()) continue;
      places.push_back(i);
      given.push_back(all[i]);
      options.names.push_back(str_cat("input ", i, " of ", call.node->name()));
      options.differentiable.push_back(call.node->inputs[i] != nullptr);
    }
  }
  Tensors put(const Tensors& in) {
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = in[i];
    return all;
  }
  Tensors all, given;
  std::vector<std::size_t> places;
  Options options;
};

Report check_call(const Call& call, double seconds, const GraphOptions& options) {
  Again again(call);
  Options& o = again.options;
  o.seconds = seconds;
  o.rtol = options.rtol;
  o.atol = options.atol;
  o.seed = options.seed;
  o.dtype = Dtype::f64;
  o.conditions = false;
  o.smallest = false;
  return gradients(
      call.node->name(), [&](const Tensors& in) { return call.node->run_again(again.put(in)); },
      again.given, o);
}

std::string described(const Call& call) {
  const std::string caller = trace::caller_of(call.calls);
  return str_cat(call.node->name(), " (node ", call.node->id, ")",
                 call.layer.empty() ? "" : " in " + call.layer,
                 caller.empty() ? "" : ", called from " + caller);
}

/// The worst finding of an operation, which is its own input's.
Finding finding_of(const Call& call, const Report& found) {
  Finding result = found.findings.front();
  result.note = described(call) + ": its derivative is wrong" +
                (result.note.empty() ? "" : ". " + result.note);
  for (const InputSummary& input : found.inputs)
    if (!input.cause.name.empty())
      result.note += str_cat(". Likely cause: ", input.cause.name, " - ", input.cause.why);
  result.input = 0;
  return result;
}

}  // namespace

Report graph(const std::function<Tensor()>& loss, const GraphOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  FirstOfEachKind step;
  Tensor result;
  {
    const GradMode on(true);
    const ObserverScope scope(step);
    result = loss();
  }
  require<ValueError>(result.defined(), "check::graph: loss gives no tensor: return its result");
  require<GraphError>(!step.calls.empty(), "check::graph: no operation was recorded: does a ",
                      "parameter require a gradient, and is the loss computed outside of NoGrad?");
  Report report;
  report.name = "graph";
  report.seed = options.seed;
  std::set<std::string> left_out;
  std::size_t looked_at = 0;
  for (std::size_t i = step.calls.size(); i-- > 0;) {
    const Call& call = step.calls[i];
    const double left = options.seconds - seconds();
    if (left <= 0) {
      left_out.insert(str_cat(call.node->name(), " (no time)"));
      continue;
    }
    try {
      const Report found = check_call(call, left / static_cast<double>(i + 1), options);
      report.counts.forward += found.counts.forward;
      report.counts.vjp += found.counts.vjp;
      ++looked_at;
      if (found.verdict == Verdict::fail) report.add(finding_of(call, found));
      if (found.verdict == Verdict::inconclusive)
        left_out.insert(str_cat(call.node->name(), " (cannot be seen)"));
    } catch (const Error& error) {
      left_out.insert(str_cat(call.node->name(), " (", error.what(), ")"));
    }
  }
  report.notes.push_back(str_cat(looked_at, " of ", step.calls.size(), " kinds of operations, of ",
                                 step.nodes, " that were recorded, were looked at"));
  for (const std::string& each : left_out) report.notes.push_back("left out: " + each);
  if (looked_at == 0) report.verdict = worse(report.verdict, Verdict::inconclusive);
  return report;
}

}  // namespace gradus::check
