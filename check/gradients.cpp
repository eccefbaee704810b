// Runs finite differences, then the conditions, then the search for the smallest failing inputs.
// Wraps a hand-written backward pass in an op.
#include "gradus/check/gradients.h"

#include <algorithm>
#include <set>

#include "gradus/check/condition.h"
#include "gradus/check/raw/smallest.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"

namespace gradus {
namespace op {

struct ByHand final : Op {  // y = f(x…),  dx… = vjp(x…, dy)
  ByHand(const check::Function& forward_pass, const check::Vjp& backward_pass)
      : f(&forward_pass), vjp(&backward_pass) {}

  const check::Function* f;
  const check::Vjp* vjp;
  std::vector<Saved> x;

  const char* name() const override { return "custom vjp"; }

  Tensor forward(std::span<const Tensor> inputs) {
    x.assign(inputs.begin(), inputs.end());
    const NoGrad off;
    std::vector<Tensor> plain;
    for (const Tensor& each : inputs) plain.push_back(each.detach());
    return (*f)(plain);
  }

  Gradients backward(const Tensor& dy, const NeedsGrad&) override {
    std::vector<Tensor> in;
    for (const Saved& each : x) in.push_back(each.value());
    std::vector<Tensor> dx = (*vjp)(in, dy);
    if (dx.size() != x.size())
      throw check::Damage(str_cat("vjp returns ", dx.size(), " gradients for ", x.size(),
                                  " inputs. Return one for each, undefined if an input has no ",
                                  "gradient."));
    Gradients out;
    for (std::size_t k = 0; k < dx.size(); ++k) {
      if (dx[k].defined() && (dx[k].shape() != x[k].shape() || dx[k].dtype() != x[k].dtype()))
        throw check::Damage(str_cat("vjp returns ", dx[k].dtype(), " ", dx[k].shape(),
                                    " as the gradient of input ", k, ", which is ", x[k].dtype(),
                                    " ", x[k].shape(), ". A gradient must have the shape and ",
                                    "dtype of its input."));
      out.emplace_back(dx[k]);
    }
    return out;
  }
};

}  // namespace op

namespace check {
namespace {

/// Number of values above which two threads are faster than one.
constexpr std::int64_t kSmall = std::int64_t{1} << 16;

bool holds(const Tensor& x, const std::optional<double>& value) {
  const Values all = numbers(x);
  return !value || std::find(all.begin(), all.end(), *value) != all.end();
}

Report check(const CheckedTensorFunction& f) {
  RowSum rows;
  Report report = f.compare(rows);
  if (f.options.conditions) check_conditions(f, rows, report);
  if (!report && !f.output.requires_grad())
    report.notes.emplace_back(
        "the result is not connected to the graph; was it computed under NoGrad, or "
        "from detached or converted tensors?");
  for (const Kink& kink : f.options.kinks)
    if (report.inputs[kink.input].kinks == 0 || !holds(f.inputs[kink.input], kink.at))
      report.notes.push_back("a kink is declared for input '" + report.inputs[kink.input].name +
                             "', but none was found");
  return report;
}

/// Shortens the axes whose lengths are in `lengths` to `sizes`. Heuristic: axes of equal length are
/// the same dimension.
Tensors cut(const Tensors& x, const std::vector<std::int64_t>& lengths, const Dims& sizes) {
  Tensors out;
  for (const Tensor& each : x) {
    Shape shape = each.shape();
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const auto at = std::find(lengths.begin(), lengths.end(), shape[axis]);
      if (at != lengths.end()) shape[axis] = sizes[static_cast<std::size_t>(at - lengths.begin())];
    }
    // The buffer keeps its old size. A function that assumes that size then reads zeros in bounds.
    Tensor whole = Tensor::empty({each.numel()}, each.dtype());
    whole.fill_(0);
    Tensor smaller = kernel::strided_view(whole, shape, contiguous_strides(shape), 0);
    smaller.copy_(kernel::strided_view(each, shape, each.strides(), each.offset()));
    out.push_back(smaller);
  }
  return out;
}

/// Sets report.smallest to the smallest part of f's inputs that fails in the same way, with its
/// finding. Skips shapes that f rejects.
void add_smallest(const CheckedTensorFunction& f, Report& report) {
  if (report.findings.empty() || report.findings[0].kind == Kind::structure) return;
  std::set<std::int64_t> different;
  for (const Tensor& x : f.inputs)
    for (const std::int64_t n : x.shape())
      if (n > 1) different.insert(n);
  const std::vector<std::int64_t> lengths(different.begin(), different.end());
  const bool condition = report.findings[0].kind == Kind::condition;
  int tries = 60;
  Report found = report;
  const Dims least = find_smallest(lengths, found, [&](const Dims& sizes) {
    try {
      if (--tries < 0) return Report();
      Report tried = check(f.at(cut(f.inputs, lengths, sizes)));
      const bool same =
          !tried.findings.empty() && (tried.findings[0].kind == Kind::condition) == condition;
      return same ? tried : Report();
    } catch (const std::exception&) {
      return Report();
    }
  });
  const Tensors smallest = cut(f.inputs, lengths, least);
  for (std::size_t k = 0; k < smallest.size() && k < 5; ++k)
    report.smallest +=
        (k == 0 ? "" : ", ") + f.options.names[k] + " " + list(sizes_of(smallest[k]));
  report.smallest += (smallest.size() > 5 ? " …: " : ": ") + found.headline();
}

Function recorded(std::string_view name, const Function& forward, const Vjp& backward) {
  require(forward != nullptr && backward != nullptr, name,
          ": the function to check or its backward pass is empty");
  return [&forward, &backward](const Tensors& in) {
    return apply(op::ByHand(forward, backward), std::span<const Tensor>(in));
  };
}

}  // namespace

Report run(const CheckedTensorFunction& f, const std::string& call, SourceLine place) {
  std::int64_t count = f.output.numel();
  for (const Tensor& x : f.inputs) count += x.numel();
  const ScopedValue<bool> serial(thread_state.parallel, thread_state.parallel || count <= kSmall);
  Report report = check(f);
  if (report.verdict == Verdict::fail && f.options.smallest) add_smallest(f, report);
  report.reproduce =
      str_cat("check::", call, "(\"", f.name, "\", …, {.seed = ", f.options.seed, "})");
  report.place = std::move(place);
  return report;
}

Report gradients(std::string_view name, const Function& f, const Tensors& inputs,
                 const Options& options, SourceLine place) {
  return run(CheckedTensorFunction(std::string(name), f, inputs, options), "gradients",
             std::move(place));
}

Report gradients(const Function& f, const Tensors& inputs, const Options& options,
                 SourceLine place) {
  return gradients("function", f, inputs, options, std::move(place));
}

Report vjp(std::string_view name, const Function& forward, const Vjp& backward,
           const Tensors& inputs, const Options& options, SourceLine place) {
  return run(
      CheckedTensorFunction(std::string(name), recorded(name, forward, backward), inputs, options),
      "vjp", std::move(place));
}

Report second(std::string_view name, const Function& forward, const Vjp& backward,
              const Tensors& inputs, const Options& options, SourceLine place) {
  return second(name, recorded(name, forward, backward), inputs, options, std::move(place));
}

}  // namespace check
}  // namespace gradus
