// A module is checked as a function of its parameters: while the check runs they are the leaves
// that the check made, and stand where the module's own stood.
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gradus/check/gradients.h"
#include "gradus/engine/graph.h"

namespace gradus::check {
namespace {

using Tensors = std::vector<Tensor>;

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
      if (!slot.trained) {
        const Dtype dtype = slot.own.dtype();
        *slot.place = slot.own.astype(is_float(dtype) ? Dtype::f64 : dtype).clone();
        continue;
      }
      const auto at = seen.emplace(slot.own.node().get(), parameters_.size());
      if (at.second) {
        parameters_.push_back(slot.own.detach());
        names_.push_back(slot.name);
      }
      uses_.push_back({slot.place, at.first->second});
    }
  }

  /// Lets the module compute with these leaves, one for each of names().
  void put(std::span<const Tensor> leaves) const {
    for (const auto& [place, index] : uses_) {
      *place = leaves[index];
      place->node()->extra().tied = true;  // it may stand under several names
    }
  }
  const Tensors& parameters() const { return parameters_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  Slots slots_;
  std::vector<std::pair<Tensor*, std::size_t>> uses_;  // a place, and which parameter belongs there
  Tensors parameters_;
  std::vector<std::string> names_;
};

}  // namespace

Report module(nn::Module& m, const Function& f, const Tensors& inputs, const Options& options) {
  const std::string name = m.type_name();
  const auto fits = [&](std::size_t given) { return given == 0 || given == inputs.size(); };
  require(fits(options.names.size()) && fits(options.differentiable.size()), name, ": ",
          options.names.size(), " names and ", options.differentiable.size(),
          " differentiable flags for ", inputs.size(), " inputs");
  const Borrowed borrowed(m);
  const std::size_t count = borrowed.parameters().size();
  Tensors all = borrowed.parameters();
  Options extended = options;
  extended.names = borrowed.names();
  extended.differentiable.assign(count, true);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    all.push_back(inputs[k]);
    extended.names.push_back(options.names.empty() ? text("input ", k) : options.names[k]);
    extended.differentiable.push_back(options.differentiable.empty() ? is_float(inputs[k].dtype())
                                                                     : options.differentiable[k]);
  }
  const auto call = [&](const Tensors& in) {
    const std::span<const Tensor> each(in);
    borrowed.put(each.first(count));
    const std::span<const Tensor> rest = each.subspan(count);
    return f({rest.begin(), rest.end()});
  };
  return gradients(name, call, all, extended);
}

}  // namespace gradus::check
