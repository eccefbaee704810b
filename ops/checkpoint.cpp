// checkpoint: y = f(x, leaves).
//
//   forward     runs f unrecorded; an observer collects the leaves that it uses
//   backward    runs f again, recorded, on detached x, and differentiates it with grad()
//   again       a recorded backward returns its gradients, concatenated, as a checkpoint of (dy, x)
//
// Saved: the inputs, the leaves, and the random generator's state.
#include "gradus/ops/checkpoint.h"

#include <algorithm>

#include "gradus/engine/apply.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {
namespace {

using Tensors = std::vector<Tensor>;

/// Collects the op inputs that were created before this object.
class Reached : public Observer {
 public:
  explicit Reached(const Tensor& any) : start_(make_leaf(any)), scope_(*this) {}
  void on_op_begin(const Op& op, std::span<const Tensor* const> inputs) override {
    for (const Tensor* x : inputs) note(op.name(), *x);
  }
  void note(const char* by, const Tensor& x) {
    if (!x.requires_grad() || x.node()->id > start_->id) return;
    require<GraphError>(x.is_leaf(), "checkpoint: the function uses a tensor of shape ", x.shape(),
                        " in ", by, " that ", x.node()->name(), " (node ", x.node()->id,
                        ") computed outside the function. Pass the tensor as an input.");
    const auto same = [&](const Tensor& known) { return known.node() == x.node(); };
    if (std::none_of(leaves.begin(), leaves.end(), same)) leaves.push_back(x);
  }
  Tensors leaves;

 private:
  NodePtr start_;
  ObserverScope scope_;
};

/// Scope of the second run. Labels messages, and prevents modules from treating it as a root call.
struct Again : Scoped {
  std::string name_of(const Scoped&) const override { return ""; }
  std::string type_name() const override { return "checkpoint"; }
};

/// State needed to repeat the first run.
struct Replay {
  TensorFunction f;
  std::size_t given;  // number of arguments of f
  Generator start = generator();
  bool formula = thread_state.formula;

  Tensor operator()(const Tensors& x) const {
    Generator random = start;
    const GeneratorScope same(random);
    const FormulaScope formulas(formula);
    const Again again;
    const Scope scope(again);
    return f(x);
  }
};

using Places = std::vector<std::size_t>;

/// Returns the gradients of f with respect to the `wanted` entries of x (inputs, then leaves).
/// Unused entries have undefined gradients.
Tensors gradients(const Replay& run, Tensors x, const Places& wanted, const Tensor& dy,
                  bool create_graph) {
  const GradMode recorded(true);
  Tensors by;
  for (const std::size_t i : wanted) by.push_back(i < run.given ? x[i].requires_grad_() : x[i]);
  x.resize(run.given);
  const Tensor y = run(x);
  require<GraphError>(y.defined() && y.shape() == dy.shape() && y.dtype() == dy.dtype(),
                      "checkpoint: the function returned ",
                      y.defined() ? to_string(y.shape()) : "nothing", " when recomputed, but ",
                      dy.shape(), " the first time. Return the same shape in each run.");
  if (!y.requires_grad()) return Tensors(by.size());
  return grad({y}, by, {dy}, {.create_graph = create_graph, .allow_unused = true});
}

/// Concatenates the flattened gradients, with zeros for undefined ones.
Tensor joined(const Tensors& parts, const Tensors& like) {
  Tensors rows;
  for (std::size_t i = 0; i < parts.size(); ++i)
    rows.push_back(parts[i].defined() ? reshape(parts[i], {like[i].numel()})
                                      : zeros({like[i].numel()}, like[i].dtype()));
  return cat(rows);
}

}  // namespace

namespace op {

struct Checkpoint final : Op {
  Replay run;
  Tensor y;
  std::vector<Saved> inputs;  // inputs of f, followed by the leaves

  Checkpoint(Replay again, Tensor result) : run(std::move(again)), y(std::move(result)) {}
  const char* name() const override { return "checkpoint"; }

  Tensor forward(std::span<const Tensor> x) {
    inputs.assign(x.begin(), x.end());
    return std::exchange(y, {});
  }

  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    Tensors x;
    Places wanted;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      x.push_back(inputs[i].value());
      if (x[i].requires_grad() && needs_grad(static_cast<int>(i))) wanted.push_back(i);
    }
    Tensors dx;
    if (GradMode::enabled()) {
      dx = again(dy, x, wanted);
    } else {
      for (std::size_t i = 0; i < run.given; ++i) x[i] = x[i].detach();
      dx = gradients(run, x, wanted, dy, false);
    }
    Gradients out(inputs.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) out[wanted[k]] = dx[k];
    return out;
  }

  /// Returns the gradients as a checkpoint of dy and x, for higher derivatives.
  Tensors again(const Tensor& dy, const Tensors& x, const Places& wanted) const {
    Tensors like, all{dy};
    for (const std::size_t i : wanted) like.push_back(x[i].metadata_only());
    const auto given = x.begin() + static_cast<std::ptrdiff_t>(run.given);
    all.insert(all.end(), x.begin(), given);
    const auto row_of = [run = run, wanted, like,
                         leaves = Tensors(given, x.end())](const Tensors& in) {
      Tensors inner(in.begin() + 1, in.end());
      inner.insert(inner.end(), leaves.begin(), leaves.end());
      return joined(gradients(run, inner, wanted, in[0], GradMode::enabled()), like);
    };
    const Tensor row = checkpoint(row_of, all);
    Tensors dx;
    std::int64_t first = 0;
    for (const Tensor& each : like) {
      dx.push_back(reshape(slice(row, 0, first, first + each.numel()), each.shape()));
      first += each.numel();
    }
    return dx;
  }
};

}  // namespace op

Tensor checkpoint(const TensorFunction& f, const std::vector<Tensor>& inputs) {
  const auto checked = [&](const Tensors& x) {
    Tensor y = f(x);
    require(y.defined(),
            "checkpoint: the function returned an undefined tensor. Return its result.");
    return y;
  };
  if (!GradMode::enabled()) return checked(inputs);
  Replay run{f, inputs.size()};
  Tensors all = inputs;
  Tensor y;
  {
    Tensors x;
    for (const Tensor& each : inputs) x.push_back(each.detach());
    Reached reached(Tensor::empty({}, default_dtype()));
    const NoGrad unrecorded;
    y = checked(x);
    reached.note("its result", y);
    all.insert(all.end(), reached.leaves.begin(), reached.leaves.end());
  }
  return apply(op::Checkpoint(std::move(run), y), std::span<const Tensor>(all));
}

}  // namespace gradus
