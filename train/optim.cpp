// The gradients' norm first; then every piece is updated by one pass over its numbers.
#include "gradus/train/optim.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "gradus/base/kernel.h"
#include "gradus/base/parallel.h"
#include "gradus/ops/create.h"
#include "gradus/ops/vmath.h"
#include "gradus/trace/nan_finder.h"
#include "gradus/trace/why.h"

namespace gradus::optim {
namespace {

constexpr std::size_t kNamed = 5;  // parameters that a note names

constexpr std::int64_t kPiece =
    65536;  // elements: enough work for a thread, and pieces enough to share

void check_rates(const char* name, double learning_rate, double weight_decay) {
  require(std::isfinite(learning_rate) && learning_rate >= 0, name, ": a learning rate of ",
          learning_rate, ": must be finite and not negative");
  require(std::isfinite(weight_decay) && weight_decay >= 0, name, ": a weight decay of ",
          weight_decay, ": must be finite and not negative");
}

/// The numbers of one piece, for writing: step() has counted the write, once for all.
template <class T>
T* numbers(const Tensor& x, std::int64_t begin) {
  return const_cast<T*>(x.data<T>()) + begin;
}

/// Σ g², in pieces of 1024 added up in double: f32 would lose small gradients in large models.
template <class T>
GRADUS_KERNEL double sum_of_squares(const T* g, std::int64_t n) {
  double total = 0;
  for (std::int64_t i = 0; i < n; i += 1024)
    total += static_cast<double>(vmath::sum_squares(g + i, std::min<std::int64_t>(1024, n - i)));
  return total;
}

struct SGDConstants {
  double learning_rate, scale, decay, momentum;
  bool nesterov, first;
};

template <class T>
GRADUS_KERNEL void sgd_kernel(T* p, const T* g, T* velocity, std::int64_t n, SGDConstants c) {
  const T rate = static_cast<T>(c.learning_rate), scale = static_cast<T>(c.scale),
          decay = static_cast<T>(c.decay);
  const T momentum = static_cast<T>(c.momentum);
  for (std::int64_t i = 0; i < n; ++i) {
    const T gradient = g[i] * scale + decay * p[i];
    velocity[i] = c.first ? gradient : momentum * velocity[i] + gradient;
    p[i] -= rate * (c.nesterov ? gradient + momentum * velocity[i] : velocity[i]);
  }
}

template <class T>
GRADUS_KERNEL void plain_sgd_kernel(T* p, const T* g, std::int64_t n, SGDConstants c) {
  const T rate = static_cast<T>(c.learning_rate), scale = static_cast<T>(c.scale),
          decay = static_cast<T>(c.decay);
  for (std::int64_t i = 0; i < n; ++i) p[i] -= rate * (g[i] * scale + decay * p[i]);
}

struct AdamConstants {
  double scale, decay_gradient, keep, beta1, beta2, step_size, root_correction, eps;
};

template <class T>
GRADUS_KERNEL void adam_kernel(T* p, const T* g, T* m, T* v, std::int64_t n, AdamConstants c) {
  const T scale = static_cast<T>(c.scale), decay = static_cast<T>(c.decay_gradient),
          keep = static_cast<T>(c.keep);
  const T b1 = static_cast<T>(c.beta1), b2 = static_cast<T>(c.beta2),
          new1 = static_cast<T>(1 - c.beta1);
  const T new2 = static_cast<T>(1 - c.beta2), size = static_cast<T>(c.step_size);
  const T correction = static_cast<T>(c.root_correction), eps = static_cast<T>(c.eps);
  for (std::int64_t i = 0; i < n; ++i) {
    const T gradient = g[i] * scale + decay * p[i];
    m[i] = b1 * m[i] + new1 * gradient;
    v[i] = b2 * v[i] + new2 * gradient * gradient;
    p[i] = p[i] * keep - size * m[i] / (std::sqrt(v[i]) * correction + eps);
  }
}

}  // namespace

Optimizer::Optimizer(std::vector<Group> groups, double learning_rate, double weight_decay,
                     std::vector<std::string> slots)
    : groups_(std::move(groups)), slot_names_(std::move(slots)) {
  check_rates("optimiser", learning_rate, weight_decay);
  for (Group& group : groups_) {
    if (group.learning_rate < 0) group.learning_rate = learning_rate;
    if (group.weight_decay < 0) group.weight_decay = weight_decay;
    check_rates("parameter group", group.learning_rate, group.weight_decay);
    for (const nn::NamedTensor& each : group.parameters) {
      require<GraphError>(each.tensor.defined() && each.tensor.node() && each.tensor.is_leaf(),
                          "optimiser: ", each.name, " is no parameter: give it model.parameters()");
      for (const Slot& other : slots_)
        require<GraphError>(other.parameter.node() != each.tensor.node(), "optimiser: ", each.name,
                            " is given twice (also as ", other.name,
                            "): each parameter belongs to one group");
      Slot slot{each.name, each.tensor, &group, {}};
      for (std::size_t k = 0; k < slot_names_.size(); ++k)
        slot.tensors.push_back(zeros_like(each.tensor));
      slots_.push_back(std::move(slot));
    }
  }
  require(!slots_.empty(), "optimiser: no parameters were given");
  trace::check_nan_if_asked();  // GRADUS_CHECK_NAN=1
}

std::vector<const Optimizer::Slot*> Optimizer::unreached_slots() const {
  std::vector<const Slot*> slots;
  for (const Slot& slot : slots_)
    if (slot.parameter.requires_grad() && !slot.parameter.grad().defined()) slots.push_back(&slot);
  return slots;
}

std::vector<std::string> Optimizer::unreached() const {
  std::vector<std::string> names;
  for (const Slot* slot : unreached_slots()) names.push_back(slot->name);
  return names;
}

void Optimizer::note_unreached() const {
  const std::vector<const Slot*> slots = unreached_slots();
  const std::size_t count = slots.size();
  if (count == 0) return;
  std::string named;
  for (std::size_t i = 0; i < std::min(count, kNamed); ++i) {
    const std::string end = trace::path_end(slots[i]->parameter);
    named += text(i == 0 ? "" : ", ", slots[i]->name, " ", slots[i]->parameter.shape(),
                  end.empty() ? "" : " (" + end + ")");
  }
  const std::string more = count > kNamed ? text(" and ", count - kNamed, " more") : "";
  std::fprintf(stderr,
               "gradus: backward did not reach %zu of %zu parameters: %s%s; why(loss, model) "
               "before backward says more, report_unreached(false) keeps quiet\n",
               count, slots_.size(), named.c_str(), more.c_str());
}

std::vector<Optimizer::Piece> Optimizer::pieces() {
  std::vector<Piece> out;
  for (const Slot& slot : slots_) {
    const Node::Extra* extra = slot.parameter.node()->extra_or_null();
    require<GraphError>(!extra || !extra->replaced, "optimiser: ", slot.name,
                        " was replaced by model.to(dtype) after this optimiser was made: make the "
                        "optimiser after it");
    if (!extra || !extra->grad.defined() || !slot.parameter.requires_grad()) continue;
    const Tensor gradient = extra->grad.contiguous();
    for (std::int64_t begin = 0; begin < slot.parameter.numel(); begin += kPiece)
      out.push_back({slot.group, slot.parameter, gradient, slot.tensors, begin,
                     std::min(begin + kPiece, slot.parameter.numel()), 0, 1});
  }
  require<GraphError>(
      !out.empty(), "optimiser: no parameter has a gradient: call loss.backward() before step(), ",
      "outside NoGrad, on a loss that depends on them");
  return out;
}

double Optimizer::step(const StepOptions& options) {
  const NoGrad off;
  std::vector<Piece> work = pieces();
  if (steps_ == 0 && reports_unreached_) note_unreached();
  const std::int64_t count = std::ssize(work);
  std::vector<double> squares(work.size());
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const Piece& piece = work[i];
      squares[i] = dispatch_float("optimiser", piece.gradient.dtype(), [&]<class T>() {
        return sum_of_squares(piece.gradient.data<T>() + piece.begin, piece.end - piece.begin);
      });
    }
  });
  double total = 0;
  for (const double square : squares) total += square;
  const double norm = std::sqrt(total);
  if (options.only_finite && !std::isfinite(norm)) return norm;
  // the 1e-6 is PyTorch's: it keeps a norm of 0 from dividing
  const double scale =
      options.clip_norm > 0 ? std::min(1.0, options.clip_norm / (norm + 1e-6)) : 1.0;

  ++steps_;
  for (Piece& piece : work) {
    piece.learning_rate = piece.group->learning_rate * options.factor;
    piece.scale = scale;
    piece.parameter.storage()->written(SourceLocation::current());
  }
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) update(work[static_cast<std::size_t>(i)]);
  });
  return norm;
}

void Optimizer::zero_grad() {
  for (Slot& slot : slots_) slot.parameter.set_grad({});
}

void Optimizer::set_learning_rate(double learning_rate) {
  check_rates("optimiser", learning_rate, 0);
  for (Group& group : groups_) group.learning_rate = learning_rate;
}

std::map<std::string, Tensor> Optimizer::state() const {
  std::map<std::string, Tensor> out;
  out["step"] = full({}, static_cast<double>(steps_), Dtype::i64);
  for (const Slot& slot : slots_)
    for (std::size_t k = 0; k < slot_names_.size(); ++k)
      out[slot_names_[k] + "." + slot.name] = slot.tensors[k];
  return out;
}

void Optimizer::load_state(const std::map<std::string, Tensor>& given) {
  const std::map<std::string, Tensor> own = state();
  for (const auto& [name, target] : own) {
    const auto at = given.find(name);
    require<ShapeError>(
        at != given.end() && at->second.shape() == target.shape() &&
            at->second.dtype() == target.dtype(),
        "optimiser state: ", name, " ", target.shape(), " of ", target.dtype(), " is ",
        at == given.end() ? "missing"
                          : text("given as ", at->second.shape(), " of ", at->second.dtype()));
  }
  for (const auto& [name, tensor] : given)
    require<ShapeError>(own.count(name) == 1, "optimiser state: ", name,
                        " is not of this optimiser");
  for (const auto& [name, target] : own) Tensor(target).copy_(given.at(name));
  steps_ = static_cast<std::int64_t>(given.at("step").item());
}

// ---- the rules ----

SGD::SGD(std::vector<Group> groups, const SGDOptions& options)
    : Optimizer(std::move(groups), options.learning_rate, options.weight_decay,
                options.momentum != 0 ? std::vector<std::string>{"velocity"}
                                      : std::vector<std::string>{}),
      options_(options) {
  require(options.momentum >= 0 && options.momentum < 1, "SGD: momentum ", options.momentum,
          " is not in [0, 1)");
  require(!options.nesterov || options.momentum > 0,
          "SGD: Nesterov's rule wants a momentum above 0");
}

void SGD::update(const Piece& piece) const {
  const SGDConstants constants{piece.learning_rate, piece.scale,       piece.group->weight_decay,
                               options_.momentum,   options_.nesterov, steps_ == 1};
  dispatch_float("SGD", piece.parameter.dtype(), [&]<class T>() {
    T* p = numbers<T>(piece.parameter, piece.begin);
    const T* g = piece.gradient.data<T>() + piece.begin;
    const std::int64_t n = piece.end - piece.begin;
    if (piece.slots.empty()) return plain_sgd_kernel(p, g, n, constants);
    sgd_kernel(p, g, numbers<T>(piece.slots[0], piece.begin), n, constants);
  });
}

Adam::Adam(std::vector<Group> groups, const AdamOptions& options, bool decoupled)
    : Optimizer(std::move(groups), options.learning_rate, options.weight_decay,
                {"exp_avg", "exp_avg_sq"}),
      options_(options),
      decoupled_(decoupled) {
  require(0 <= options.beta1 && options.beta1 < 1 && 0 <= options.beta2 && options.beta2 < 1,
          "Adam: betas ", options.beta1, " and ", options.beta2, " must lie in [0, 1)");
  require(options.eps > 0, "Adam: eps ", options.eps, " must be positive");
}

void Adam::update(const Piece& piece) const {
  const double t = static_cast<double>(steps_), decay = piece.group->weight_decay;
  const AdamConstants constants{piece.scale,
                                decoupled_ ? 0 : decay,
                                decoupled_ ? 1 - piece.learning_rate * decay : 1,
                                options_.beta1,
                                options_.beta2,
                                piece.learning_rate / (1 - std::pow(options_.beta1, t)),
                                1 / std::sqrt(1 - std::pow(options_.beta2, t)),
                                options_.eps};
  dispatch_float("Adam", piece.parameter.dtype(), [&]<class T>() {
    adam_kernel(numbers<T>(piece.parameter, piece.begin), piece.gradient.data<T>() + piece.begin,
                numbers<T>(piece.slots[0], piece.begin), numbers<T>(piece.slots[1], piece.begin),
                piece.end - piece.begin, constants);
  });
}

std::vector<Group> decay_matrices_only(const std::vector<nn::NamedTensor>& parameters,
                                       double weight_decay) {
  Group matrices{{}, -1, weight_decay}, others{{}, -1, 0};
  for (const nn::NamedTensor& each : parameters)
    (each.tensor.rank() >= 2 ? matrices : others).parameters.push_back(each);
  return {std::move(matrices), std::move(others)};
}

}  // namespace gradus::optim
