// checkpoint: y = f(x, leaves).
//
//   forward     f runs unrecorded, and an observer notes which leaves its operations reached
//   backward    f runs again, recorded, on x cut off from the graph; grad() goes through it
//   again       the gradients, as one row of numbers, are themselves a checkpoint of (dy, x)
//
// Remembered: the inputs, the leaves, and where the random numbers stood.
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

/// Notes the tensors that a graph older than itself has, as operations take them in.
class Reached : public Observer {
 public:
  explicit Reached(const Tensor& any) : start_(make_leaf(any)), scope_(*this) {}
  void on_op_begin(const Op& op, std::span<const Tensor* const> inputs) override {
    for (const Tensor* x : inputs) note(op.name(), *x);
  }
  void note(const char* by, const Tensor& x) {
    if (!x.requires_grad() || x.node()->id > start_->id) return;
    require<GraphError>(x.is_leaf(), "checkpoint: the function uses a tensor ", x.shape(), " in ",
                        by, " that ", x.node()->name(), " (node ", x.node()->id,
                        ") made outside it: hand it in among the inputs");
    const auto same = [&](const Tensor& known) { return known.node() == x.node(); };
    if (std::none_of(leaves.begin(), leaves.end(), same)) leaves.push_back(x);
  }
  Tensors leaves;

 private:
  NodePtr start_;
  ObserverScope scope_;
};

/// Whatever runs again does so in a layer of this name: messages say so, and no module takes itself
/// for the outermost.
struct Again : Scoped {
  std::string name_of(const Scoped&) const override { return ""; }
  std::string type_name() const override { return "checkpoint"; }
};

/// What a second run needs to be like the first.
struct Replay {
  TensorFunction f;
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

/// The gradients of run(inputs) by the inputs at `by` and by `leaves`, undefined where it does not
/// depend on one. Inputs are outside any graph.
Tensors gradients(const Replay& run, const Tensors& inputs, const Places& by, const Tensors& leaves,
                  const Tensor& dy, bool create_graph) {
  const GradMode recorded(true);
  Tensors x = inputs, wanted;
  for (const std::size_t i : by) wanted.push_back(x[i].requires_grad_());
  wanted.insert(wanted.end(), leaves.begin(), leaves.end());
  const Tensor y = run(x);
  require<GraphError>(y.defined() && y.shape() == dy.shape() && y.dtype() == dy.dtype(),
                      "checkpoint: run again, the function gives ",
                      y.defined() ? to_string(y.shape()) : "nothing", ", but gave ", dy.shape(),
                      " before: it must do the same each time");
  if (!y.requires_grad()) return Tensors(wanted.size());
  return grad({y}, wanted, {dy}, {.create_graph = create_graph, .allow_unused = true});
}

/// Gradients as one row of numbers, zeros where there are none.
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
  Tensor y;  // until forward hands it out
  std::vector<Saved> inputs, leaves;
  std::size_t given;  // inputs; what apply() gets besides are leaves

  Checkpoint(Replay again, Tensor result, std::size_t inputs)
      : run(std::move(again)), y(std::move(result)), given(inputs) {}
  const char* name() const override { return "checkpoint"; }

  Tensor forward(std::span<const Tensor> x) {
    inputs.assign(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(given));
    leaves.assign(x.begin() + static_cast<std::ptrdiff_t>(given), x.end());
    return std::exchange(y, {});
  }

  Gradients backward(const Tensor& dy, const NeedsGrad& needs_grad) override {
    Tensors x, reached;
    Places by, out_of;  // which inputs, and of all that apply() got
    for (std::size_t i = 0; i < inputs.size() + leaves.size(); ++i) {
      const bool is_input = i < given;
      const Tensor value = (is_input ? inputs[i] : leaves[i - given]).value();
      const bool wanted = value.requires_grad() && needs_grad(static_cast<int>(i));
      if (wanted) out_of.push_back(i);
      if (wanted && is_input) by.push_back(i);
      if (is_input) x.push_back(value);
      if (wanted && !is_input) reached.push_back(value);
    }
    Tensors dx;
    if (GradMode::enabled()) {
      dx = again(dy, x, by, reached);
    } else {
      for (Tensor& each : x) each = each.detach();
      dx = gradients(run, x, by, reached, dy, false);
    }
    Gradients out(inputs.size() + leaves.size());
    for (std::size_t k = 0; k < out_of.size(); ++k) out[out_of[k]] = dx[k];
    return out;
  }

  /// The gradients as a checkpoint of dy and x, which can be differentiated in turn.
  Tensors again(const Tensor& dy, const Tensors& x, const Places& by,
                const Tensors& reached) const {
    Tensors like, all{dy};
    for (const std::size_t i : by) like.push_back(x[i].metadata_only());
    for (const Tensor& leaf : reached) like.push_back(leaf.metadata_only());
    all.insert(all.end(), x.begin(), x.end());
    const auto row_of = [run = run, by, reached, like](const Tensors& in) {
      const Tensors inner(in.begin() + 1, in.end());
      return joined(gradients(run, inner, by, reached, in[0], GradMode::enabled()), like);
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
    require(y.defined(), "checkpoint: the function gives no tensor: return its result");
    return y;
  };
  if (!GradMode::enabled()) return checked(inputs);
  Replay run{f};
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
  return apply(op::Checkpoint(std::move(run), y, inputs.size()), std::span<const Tensor>(all));
}

}  // namespace gradus
