// A module is checked as a function of its parameters: while the check runs they are the leaves
// that the check made, and stand where the module's own stood.
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gradus/check/tensor_function.h"
#include "gradus/engine/graph.h"

namespace gradus::check {
namespace {

/// A parameter or buffer of a module: where it stands, and what stood there before.
struct Slot {
  std::string name;
  Tensor* place;
  Tensor own;
  bool trained;
};

/// Puts back what stood there.
struct Slots : std::vector<Slot> {
  Slots() = default;
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  ~Slots() {
    for (Slot& slot : *this) *slot.place = std::move(slot.own);
  }
};

void collect(nn::Module& m, const std::string& prefix, Slots& slots) {
  for (const nn::Member& member : m.members()) {
    Tensor* const place = member.parameter() ? member.parameter() : member.buffer();
    if (place && place->defined())
      slots.push_back({prefix + member.name(), place, *place, member.parameter() != nullptr});
    for (const auto& child : member.children())
      collect(*child.second, prefix + member.name() + child.first + ".", slots);
  }
}

/// A module's parameters as inputs of a function, each tied one once. Buffers become f64 copies.
class Borrowed {
 public:
  explicit Borrowed(nn::Module& m) {
    (void)m.parameters();  // GraphError where two names share a tensor without tie()
    collect(m, "", slots_);
    std::map<const Node*, std::size_t> seen;
    for (const Slot& slot : slots_) {
      if (!slot.trained) continue;
      const auto at = seen.emplace(slot.own.node().get(), parameters_.size());
      if (at.second) {
        parameters_.push_back(slot.own.detach());
        names_.push_back(slot.name);
      }
      uses_.push_back({slot.place, at.first->second});
    }
  }

  /// Lets the module compute with these tensors, one for each of names(), in this dtype.
  void put(std::span<const Tensor> tensors, Dtype dtype) {
    for (const auto& [place, index] : uses_) {
      *place = tensors[index];
      if (place->node()) place->node()->extra().tied = true;  // it may stand under several names
    }
    if (std::exchange(buffers_, dtype) == dtype) return;
    for (const Slot& slot : slots_)
      if (!slot.trained)
        *slot.place =
            slot.own.astype(is_float(slot.own.dtype()) ? dtype : slot.own.dtype()).clone();
  }
  const Tensors& parameters() const { return parameters_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  Slots slots_;
  std::vector<std::pair<Tensor*, std::size_t>> uses_;  // a place, and which parameter belongs there
  Tensors parameters_;
  std::vector<std::string> names_;
  Dtype buffers_ = Dtype::bool_;  // of the copies that stand in the module: none yet
};

Dtype float_dtype(const Tensors& in) {
  for (const Tensor& x : in)
    if (is_float(x.dtype())) return x.dtype();
  return Dtype::f64;
}

/// The options for all tensors, of which those of the inputs come after `borrowed`'s.
Options extended(const Options& options, const Borrowed& borrowed, const Tensors& inputs) {
  const std::size_t count = borrowed.parameters().size();
  Options all = options;
  all.names = borrowed.names();
  all.differentiable.assign(count, true);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    all.names.push_back(options.names.empty() ? text("input ", k) : options.names[k]);
    all.differentiable.push_back(options.differentiable.empty() ? is_float(inputs[k].dtype())
                                                                : options.differentiable[k]);
  }
  for (Kink& kink : all.kinks) kink.input += count;
  for (Tensors& in : all.refused) {
    Tensors with = borrowed.parameters();
    with.insert(with.end(), in.begin(), in.end());
    in = with;
  }
  return all;
}

}  // namespace

Report module(nn::Module& m, const Function& f, const Tensors& inputs, const Options& options) {
  const std::string name = m.type_name();
  const auto fits = [&](std::size_t given) { return given == 0 || given == inputs.size(); };
  require(fits(options.names.size()) && fits(options.differentiable.size()), name, ": ",
          options.names.size(), " names and ", options.differentiable.size(),
          " differentiable flags for ", inputs.size(), " inputs");
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
  return run(TensorFunction(name, call, all, extended(options, borrowed, inputs)), "module");
}

}  // namespace gradus::check
