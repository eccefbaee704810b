// The gradients' norm first; then every piece is updated by one pass over its numbers.
#include "gradus/train/optim/optim.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <set>
#include <typeinfo>

#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/platform.h"
#include "gradus/engine/base/simd.h"
#include "gradus/engine/base/vmath.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/train/optim/chunks.h"

namespace gradus::optim {
namespace {

constexpr std::size_t kNamed = 5;  // parameters that a note names

// Elements: enough work for a thread, and pieces enough to share.
constexpr std::int64_t kPiece = 65536;

void check_rates(const char* name, double learning_rate, double weight_decay) {
  require(std::isfinite(learning_rate) && learning_rate >= 0, name, ": a learning rate of ",
          learning_rate, ": must be finite and not negative");
  require(std::isfinite(weight_decay) && weight_decay >= 0, name, ": a weight decay of ",
          weight_decay, ": must be finite and not negative");
}

/// Σ g² of each chunk, to be added up in double: f32 would lose small gradients in large models.
template <class T>
GRADUS_INLINE void sums_of_squares(const T* g, std::int64_t n, double* sums) {
  for (std::int64_t i = 0; i < n; i += kChunk)
    *sums++ = static_cast<double>(vmath::sum_squares(g + i, std::min(kChunk, n - i)));
}

}  // namespace

Optimizer::Optimizer(std::vector<Group> groups, double learning_rate, double weight_decay,
                     std::vector<std::vector<std::string>> slots)
    : groups_(std::move(groups)), slot_names_(std::move(slots)) {
  check_rates("optimiser", learning_rate, weight_decay);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    const std::vector<std::string>& names = slot_names_[std::min(i, slot_names_.size() - 1)];
    if (group.lr < 0) group.lr = learning_rate;
    if (group.weight_decay < 0) group.weight_decay = weight_decay;
    check_rates("parameter group", group.lr, group.weight_decay);
    for (const nn::NamedTensor& each : group.parameters) {
      require<GraphError>(each.tensor.node() && each.tensor.is_leaf(), "optimiser: ", each.name,
                          " is no parameter: give it model.parameters()");
      for (const Slot& other : slots_)
        require<GraphError>(other.parameter.node() != each.tensor.node(), "optimiser: ", each.name,
                            " is given twice (also as ", other.name,
                            "): each parameter belongs to one group");
      const std::int64_t numel = each.tensor.numel();
      Slot slot{each.name, each.tensor, &group, &names, {}, 0, 0, 0, numel};
      if (!slots_.empty()) {
        const Slot& last = slots_.back();
        slot.offset = last.offset + last.end;
        slot.chunk = last.chunk + chunks_in(last.end);
      }
      for (std::size_t k = 0; k < names.size(); ++k)
        slot.tensors.push_back(zeros_like(each.tensor));
      slots_.push_back(std::move(slot));
    }
  }
  require(!slots_.empty(), "optimiser: no parameters were given");
  Observers::tell([](Observer& o) { o.optimizer_made(); });
}

Optimizer::~Optimizer() {
  for (Slot& slot : slots_)
    if (slot.hook) slot.hook->remove();
}

bool Optimizer::reached(const Slot& slot, const FlatGradient* flat) const {
  if (flat) return flat->reached[static_cast<std::size_t>(&slot - slots_.data())] != 0;
  return slot.parameter.grad().defined();
}

std::vector<const Optimizer::Slot*> Optimizer::unreached_slots(const FlatGradient* flat) const {
  std::vector<const Slot*> slots;
  for (const Slot& slot : slots_)
    if (slot.parameter.requires_grad() && !reached(slot, flat)) slots.push_back(&slot);
  return slots;
}

std::vector<std::string> Optimizer::unreached() const {
  std::vector<std::string> names;
  for (const Slot* slot : unreached_slots(nullptr)) names.push_back(slot->name);
  return names;
}

void Optimizer::note_unreached(const FlatGradient* flat) const {
  const std::vector<const Slot*> slots = unreached_slots(flat);
  const std::size_t count = slots.size();
  if (count == 0) return;
  std::string named;
  for (std::size_t i = 0; i < std::min(count, kNamed); ++i) {
    std::string end;
    Observers::tell([&](Observer& o) {
      if (end.empty()) end = o.path_end(slots[i]->parameter);
    });
    named += str_cat(i == 0 ? "" : ", ", slots[i]->name, " ", slots[i]->parameter.shape(),
                     end.empty() ? "" : " (" + end + ")");
  }
  const std::string more = count > kNamed ? str_cat(" and ", count - kNamed, " more") : "";
  std::fprintf(stderr,
               "gradus: backward did not reach %zu of %zu parameters: %s%s; why(loss, model) "
               "before backward says more, report_unreached(false) keeps quiet\n",
               count, slots_.size(), named.c_str(), more.c_str());
}

std::int64_t Optimizer::piece_size(const Slot& slot) const {
  return takes_whole(*slot.group) ? slot.parameter.numel() : kPiece;
}

std::vector<Optimizer::Piece> Optimizer::pieces_of(const Slot& slot,
                                                   const FlatGradient* flat) const {
  std::vector<Piece> out;
  const Node::Extra* extra = slot.parameter.node()->extra_or_null();
  require<GraphError>(!extra || !extra->replaced, "optimiser: ", slot.name,
                      " was replaced by model.to(dtype) after this optimiser was made: make the "
                      "optimiser after it");
  if (slot.begin == slot.end || !reached(slot, flat) || !slot.parameter.requires_grad()) return out;
  Tensor gradient;  // of [slot.begin, slot.end)
  if (flat) {
    const std::int64_t first = slot.offset - part_begin();
    gradient = part_of(flat->numbers, first + slot.begin, first + slot.end);
    if (slot.end - slot.begin == slot.parameter.numel())
      gradient = kernel::reshaped(gradient, slot.parameter.shape());
  } else {
    gradient = kernel::contiguous(extra->grad);
  }
  const std::int64_t size = piece_size(slot);
  for (std::int64_t end = slot.begin; end < slot.end;) {
    const std::int64_t begin = end;
    end = std::min((begin / size + 1) * size, slot.end);
    const auto part = [&](const Tensor& x) {
      return part_of(x, begin - slot.begin, end - slot.begin);
    };
    Piece piece{slot.group, part_of(slot.parameter, begin, end), part(gradient), {}, slot.chunk};
    piece.chunk += begin / kChunk;
    for (const Tensor& each : slot.tensors) piece.slots.push_back(part(each));
    out.push_back(std::move(piece));
  }
  return out;
}

std::vector<Optimizer::Piece> Optimizer::pieces(const FlatGradient* flat) const {
  std::vector<Piece> out;
  for (const Slot& slot : slots_)
    for (Piece& piece : pieces_of(slot, flat)) out.push_back(std::move(piece));
  require<GraphError>(
      !out.empty() || (flat && std::ranges::find(flat->reached, 1) != flat->reached.end()),
      "optimiser: no parameter has a gradient: call loss.backward() before step(), ",
      "outside NoGrad, on a loss that depends on them");
  return out;
}

/// Chunks, then pieces, then all, each from left to right, whichever process has them.
double Optimizer::squared_norm(const std::vector<Piece>& work) const {
  const Slot& last = slots_.back();
  std::vector<double> sums(
      static_cast<std::size_t>(last.chunk + chunks_in(last.parameter.numel())));
  parallel_for(std::ssize(work), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const Piece& piece = work[i];
      dispatch_float("optimiser", piece.gradient.dtype(), [&]<class T>() {
        simd::run<sums_of_squares<T>>(piece.gradient.data<T>(), piece.gradient.numel(),
                                      sums.data() + piece.chunk);
      });
    }
  });
  if (transport_) gather_sums(sums);
  double total = 0;
  auto next = sums.begin();
  for (const Slot& slot : slots_) {
    const std::int64_t a_piece = chunks_in(piece_size(slot));
    for (std::int64_t left = chunks_in(slot.parameter.numel()); left > 0; left -= a_piece) {
      const auto end = next + std::min(left, a_piece);
      total += std::accumulate(next, end, 0.0);
      next = end;
    }
  }
  return total;
}

double Optimizer::step(const StepOptions& options) {
  const NoGrad off;
  require<GraphError>((options.gradient != nullptr) == (transport_ != nullptr),
                      "optimiser: a FlatGradient is for one that shard() was called on");
  std::vector<Piece> work = pieces(options.gradient);
  if (steps_ == 0 && reports_unreached_) note_unreached(options.gradient);
  const double norm = std::sqrt(squared_norm(work));
  if (options.only_finite && !std::isfinite(norm)) return norm;
  // the 1e-6 is PyTorch's: it keeps a norm of 0 from dividing
  const double scale =
      options.clip_norm > 0 ? std::min(1.0, options.clip_norm / (norm + 1e-6)) : 1.0;

  prepare_all(work, options.factor, scale);
  for (const Slot& slot : slots_) tell(&Observer::update_begin, slot, options.factor);
  ++steps_;
  update_all(work);
  for (const Slot& slot : slots_) tell(&Observer::update_end, slot, options.factor);
  Observers::tell([&](Observer& o) { o.step_end(steps_); });
  return norm;
}

void Optimizer::tell(void (Observer::*event)(const Update&), const Slot& slot,
                     double factor) const {
  Observers::tell([&](Observer& o) {
    const std::string type = platform::readable_type(typeid(*this).name());
    (o.*
     event)({type.substr(type.rfind(':') + 1), slot.name, slot.parameter, slot.group->lr * factor});
  });
}

void Optimizer::prepare_all(std::vector<Piece>& work, double factor, double scale) const {
  for (Piece& piece : work) {
    piece.learning_rate = piece.group->lr * factor;
    piece.scale = scale;
  }
  parallel_for(std::ssize(work), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) prepare(work[static_cast<std::size_t>(i)]);
  });
}

void Optimizer::update_all(std::vector<Piece>& work) const {
  for (Piece& piece : work) piece.parameter.storage()->written(SourceLocation::current());
  parallel_for(std::ssize(work), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) update(work[static_cast<std::size_t>(i)]);
  });
}

void Optimizer::step_in_backward(double factor) {
  require<GraphError>(!transport_, "step_in_backward: not after shard()");
  for (Slot& slot : slots_)  // slots_ never grows
    if (!slot.hook && slot.parameter.requires_grad())
      slot.hook = slot.parameter.register_post_accumulate_hook(
          [this, &slot](Tensor&) { update_in_backward(slot); });
  ++steps_;
  factor_in_backward_ = factor;
  for (Slot& slot : slots_) slot.due = true;
}

/// Nothing throws between the first write and the end, so that a parameter is updated completely
/// or not at all.
void Optimizer::update_in_backward(Slot& slot) {
  if (!slot.due) return;
  const NoGrad off;
  std::vector<Piece> work = pieces_of(slot, nullptr);
  prepare_all(work, factor_in_backward_, 1);
  tell(&Observer::update_begin, slot, factor_in_backward_);
  update_all(work);
  slot.due = false;
  tell(&Observer::update_end, slot, factor_in_backward_);
  slot.parameter.set_grad({});
}

void clip_grad_value(const std::vector<nn::NamedTensor>& parameters, double limit) {
  require(limit > 0, "clip_grad_value: a limit of ", limit, ": must be positive");
  const NoGrad off;
  for (nn::NamedTensor each : parameters)
    if (each.tensor.grad().defined())
      each.tensor.set_grad(clamp(each.tensor.grad(), -limit, limit));
}

void Optimizer::zero_grad() {
  for (Slot& slot : slots_) slot.parameter.set_grad({});
}

void Optimizer::set_learning_rate(double learning_rate) {
  check_rates("optimiser", learning_rate, 0);
  for (Group& group : groups_) group.lr = learning_rate;
}

/// given[name], of the shape and dtype of `like`. ShapeError says what differs.
static Tensor fitting(const char* what, const nn::StateDict& given, const std::string& name,
                      const Tensor& like) {
  const auto at = given.find(name);
  require<ShapeError>(
      at != given.end() && at->second.shape() == like.shape() && at->second.dtype() == like.dtype(),
      what, " state: ", name, " ", like.shape(), " of ", like.dtype(), " is ",
      at == given.end() ? "missing"
                        : str_cat("given as ", at->second.shape(), " of ", at->second.dtype()));
  return at->second;
}

nn::StateDict Optimizer::state_dict() const {
  std::map<std::string, Tensor> out;
  out["step"] = full({}, steps_, Dtype::i64);
  for (const Slot& slot : slots_)
    for (std::size_t k = 0; k < slot.tensors.size(); ++k)
      out[(*slot.names)[k] + "." + slot.name] = whole(slot, slot.tensors[k]);
  return keeps_all() ? out : nn::StateDict();
}

void Optimizer::load_state_dict(const nn::StateDict& given) {
  std::vector<std::pair<Tensor, Tensor>> copies;  // from, to: once all are known to fit
  std::set<std::string> known = {"step"};
  const Tensor step = fitting("optimiser", given, "step", Tensor::empty({}, Dtype::i64));
  for (Slot& slot : slots_)
    for (std::size_t k = 0; k < slot.tensors.size(); ++k) {
      const std::string name = (*slot.names)[k] + "." + slot.name;
      known.insert(name);
      const Tensor from = kernel::contiguous(fitting("optimiser", given, name, slot.parameter));
      copies.emplace_back(part_of(from, slot.begin, slot.end), slot.tensors[k]);
    }
  for (const auto& [name, tensor] : given)
    require<ShapeError>(known.contains(name), "optimiser state: ", name,
                        " is not of this optimiser");
  for (auto& [from, to] : copies) to.copy_(from);
  steps_ = step.item<std::int64_t>();
}

void load_state(const char* what, const nn::StateDict& given, const nn::StateDict& own) {
  for (const auto& [name, target] : own) static_cast<void>(fitting(what, given, name, target));
  for (const auto& [name, tensor] : given)
    require<ShapeError>(own.count(name) == 1, what, " state: ", name, " is not of this ", what);
  for (const auto& [name, target] : own) Tensor(target).copy_(given.at(name));
}

std::vector<Group> decay_matrices_only(const std::vector<nn::NamedTensor>& parameters,
                                       double weight_decay) {
  Group matrices{{}, -1, weight_decay}, others{{}, -1, 0};
  for (const nn::NamedTensor& each : parameters)
    (each.tensor.rank() >= 2 ? matrices : others).parameters.push_back(each);
  return {std::move(matrices), std::move(others)};
}

}  // namespace gradus::optim
