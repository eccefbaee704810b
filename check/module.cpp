// Checks a module as a function of its parameters. The leaves of the check temporarily replace the
// module's tensors.
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gradus/check/graph.h"
#include "gradus/check/tensor_function.h"
#include "gradus/engine/node.h"
#include "gradus/engine/strided.h"

namespace gradus::check {
namespace {

/// RAII guard that exposes parameters as inputs (tied ones once) and copies buffers to the compute
/// dtype. The destructor restores the module's tensors.
class Borrowed {
 public:
  explicit Borrowed(nn::Module& m) {
    (void)m.parameters();  // throws GraphError if two names share a tensor without tie()
    collect(m, "");
  }
  ~Borrowed() {
    for (const auto& [place, own] : own_) *place = own;
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  void put(std::span<const Tensor> tensors, Dtype dtype) {
    for (const auto& [place, index] : uses_) {
      *place = tensors[index];
      if (place->node()) place->node()->extra().tied = true;  // multiple names may share it
    }
    if (std::exchange(dtype_, dtype) == dtype) return;
    for (Tensor* const place : buffers_) {
      const Tensor& own = own_.at(place);
      *place = kernel::copy(kernel::convert(own, is_float(own.dtype()) ? dtype : own.dtype()));
    }
  }
  const Tensors& parameters() const { return parameters_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  void collect(nn::Module& m, const std::string& prefix) {
    for (const nn::Member& member : m.members()) {
      if (Tensor* const place = member.parameter(); place && place->defined()) {
        own_.emplace(place, *place);
        const auto [at, fresh] = indices_.emplace(place->node().get(), parameters_.size());
        uses_.emplace_back(place, at->second);
        if (fresh) {
          parameters_.push_back(place->detach());
          names_.push_back(prefix + member.name());
        }
      }
      if (Tensor* const place = member.buffer(); place && place->defined()) {
        own_.emplace(place, *place);
        buffers_.push_back(place);
      }
      for (const auto& child : member.children())
        collect(*child.second, prefix + member.name() + child.first + ".");
    }
  }

  std::map<Tensor*, Tensor> own_;
  std::vector<std::pair<Tensor*, std::size_t>> uses_;  // a member and the index of its parameter
  std::vector<Tensor*> buffers_;
  std::map<const Node*, std::size_t> indices_;
  Tensors parameters_;
  std::vector<std::string> names_;
  Dtype dtype_ = Dtype::bool_;  // dtype of the copies; bool_: no copies
};

Dtype float_dtype(const Tensors& in) {
  for (const Tensor& x : in)
    if (is_float(x.dtype())) return x.dtype();
  return Dtype::f64;
}

Options extended(const Options& options, const Borrowed& borrowed, const Tensors& inputs) {
  const Tensors& own = borrowed.parameters();
  Options all = options;
  all.names = borrowed.names();
  all.differentiable.assign(own.size(), true);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    all.names.push_back(options.names.empty() ? str_cat("input ", k) : options.names[k]);
    all.differentiable.push_back(options.differentiable.empty() ? is_float(inputs[k].dtype())
                                                                : options.differentiable[k]);
  }
  for (Kink& kink : all.kinks) kink.input += own.size();
  for (Tensors& in : all.refused) in.insert(in.begin(), own.begin(), own.end());
  return all;
}

/// If the cause of a wrong parameter gradient is unknown, reports the op whose derivative is wrong.
void name_operation(const CheckedTensorFunction& f, Report& report) {
  const auto loss = [&] { return f.call(f.leaves(f.inputs)); };
  const Report found = graph(loss, {.seconds = 2, .seed = f.options.seed});
  if (found.findings.empty()) return;
  const Cause cause{"WRONG OPERATION", found.findings.front().note, ""};
  for (InputSummary& input : report.inputs)
    if (input.wrong > 0 && input.cause.name.empty()) input.cause = cause;
  report.notes.push_back(cause.why);
}

}  // namespace

Report module(nn::Module& m, const Function& f, const Tensors& inputs, const Options& options,
              SourceLine place) {
  const std::string name = m.type_name();
  const auto fits = [&](std::size_t given) { return given == 0 || given == inputs.size(); };
  require(fits(options.names.size()) && fits(options.differentiable.size()), name, ": ",
          options.names.size(), " names and ", options.differentiable.size(),
          " differentiable flags were given for ", inputs.size(), " inputs");
  Borrowed borrowed(m);
  const std::size_t count = borrowed.parameters().size();
  Tensors all = borrowed.parameters();
  all.insert(all.end(), inputs.begin(), inputs.end());
  const auto call = [&](const Tensors& in) {
    const std::span<const Tensor> each(in);
    borrowed.put(each.first(count), float_dtype(in));
    const std::span<const Tensor> rest = each.subspan(count);
    return f({rest.begin(), rest.end()});
  };
  const CheckedTensorFunction function(name, call, all, extended(options, borrowed, inputs));
  Report report = run(function, "module", std::move(place));
  if (report.verdict == Verdict::fail) name_operation(function, report);
  return report;
}

}  // namespace gradus::check
