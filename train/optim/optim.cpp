#include "gradus/train/optim/optim.h"

#include <algorithm>
#include <cmath>
#include <typeinfo>

#include "gradus/engine/base/platform.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/nn/pattern.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/train/optim/stages.h"

namespace gradus::optim {
namespace {

void check_rates(const char* name, double learning_rate, double weight_decay) {
  require(std::isfinite(learning_rate) && learning_rate >= 0, name,
          ": the learning rate must be finite and not negative, got ", learning_rate);
  require(std::isfinite(weight_decay) && weight_decay >= 0, name,
          ": the weight decay must be finite and not negative, got ", weight_decay);
}

void require_complete(std::span<const Slot> slots) {
  for (const Slot& slot : slots)
    require<GraphError>(slot.is_complete(),
                        "optimizer: it is sharded, and this process has only part of ", slot.name,
                        ". Use its ShardedOptimizer.");
}

constexpr auto gradient_of = [](const Slot& slot) { return slot.parameter.grad(); };

void notify(const Optimizer& optimizer, void (Observer::*event)(const Update&),
            std::span<const Slot> slots, double factor) {
  Observers::notify([&](Observer& o) {
    std::string type = platform::demangle(typeid(optimizer).name());
    type.erase(0, type.rfind(':') + 1);
    for (const Slot& slot : slots)
      (o.*event)({type, slot.name, slot.parameter, slot.group->lr * factor});
  });
}

void check_state(const char* what, const nn::StateDict& given, const nn::StateDict& own) {
  for (const auto& [name, like] : own) {
    const auto at = given.find(name);
    const bool there = at != given.end();
    require<ShapeError>(
        there && at->second.shape() == like.shape() && at->second.dtype() == like.dtype(), what,
        " state: ", name, " ", like.shape(), " of ", like.dtype(), " is ",
        there ? str_cat("given as ", at->second.shape(), " of ", at->second.dtype()) : "missing");
  }
  for (const auto& [name, tensor] : given)
    require<ShapeError>(own.contains(name), what, " state: this ", what, " has no ", name);
}

}  // namespace

Optimizer::Optimizer(std::vector<Group> groups, double learning_rate, double weight_decay,
                     const std::vector<GroupState>& state)
    : groups_(std::move(groups)) {
  check_rates("optimizer", learning_rate, weight_decay);
  std::int64_t chunk = 0;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    const GroupState& kept = state[std::min(i, state.size() - 1)];
    if (group.lr < 0) group.lr = learning_rate;
    if (group.weight_decay < 0) group.weight_decay = weight_decay;
    check_rates("parameter group", group.lr, group.weight_decay);
    for (const auto& [name, parameter] : group.parameters) {
      require<GraphError>(parameter.node() && parameter.is_leaf(), "optimizer: ", name,
                          " is not a parameter. Pass model.parameters().");
      for (const Slot& other : slots_)
        require<GraphError>(other.parameter.node() != parameter.node(), "optimizer: ", name,
                            " is given twice (also as ", other.name,
                            "). Each parameter must be in one group.");
      Slot slot{name, parameter, &group, {}, kept.whole, chunk, 0, parameter.numel()};
      for (const std::string& each : kept.names)
        slot.state.push_back({each + "." + name, zeros_like(parameter)});
      chunk += chunks_in(slot.end);
      slots_.push_back(std::move(slot));
    }
  }
  require(!slots_.empty(), "optimizer: no parameters were given. Pass model.parameters().");
  Observers::notify([](Observer& o) { o.on_optimizer_created(); });
}

Optimizer::~Optimizer() {
  for (Slot& slot : slots_)
    if (slot.hook) slot.hook->remove();
}

double Optimizer::step(const StepOptions& options) {
  const NoGrad off;
  require_complete(slots_);
  std::vector<Piece> work = pieces(slots_, steps_ == 0 && warns_, gradient_of);
  return apply(work, norm(slots_, work, [](std::vector<double>&) {}), options);
}

double Optimizer::apply(std::vector<Piece>& work, double norm, const StepOptions& options) {
  if (options.only_finite && !std::isfinite(norm)) return norm;
  // Adds 1e-6, as in PyTorch, to avoid division by a norm of 0.
  const double scale =
      options.clip_norm > 0 ? std::min(1.0, options.clip_norm / (norm + 1e-6)) : 1.0;
  prepare_all(work, slots_, options.factor, scale);
  ++steps_;
  update_all(work, slots_, options.factor);
  Observers::notify([&](Observer& o) { o.on_step_end(steps_); });
  return norm;
}

/// Performs all parts of a step that may throw.
void Optimizer::prepare_all(std::vector<Piece>& work, std::span<const Slot> slots, double factor,
                            double scale) const {
  for (Piece& piece : work) {
    piece.learning_rate = piece.group->lr * factor;
    piece.scale = scale;
  }
  for_each_piece(work, [&](Piece& piece) { prepare(piece); });
  notify(*this, &Observer::on_update_begin, slots, factor);
}

void Optimizer::update_all(std::vector<Piece>& work, std::span<const Slot> slots,
                           double factor) const {
  for (Piece& piece : work) piece.parameter.storage()->written(SourceLocation::current());
  for_each_piece(work, [&](Piece& piece) { update(piece); });
  notify(*this, &Observer::on_update_end, slots, factor);
}

void Optimizer::step_in_backward(double factor) {
  require_complete(slots_);
  for (Slot& slot : slots_) {  // hooks refer to elements of slots_, so it must not grow
    if (!slot.hook && slot.parameter.requires_grad())
      slot.hook = slot.parameter.register_post_accumulate_hook(
          [this, &slot](Tensor&) { update_in_backward(slot); });
  }
  ++steps_;
  factor_in_backward_ = factor;
  for (Slot& slot : slots_) slot.due = true;
}

void Optimizer::update_in_backward(Slot& slot) {
  if (!slot.due) return;
  const NoGrad off;
  const std::span<const Slot> slots(&slot, 1);
  std::vector<Piece> work = pieces(slots, false, gradient_of);
  prepare_all(work, slots, factor_in_backward_, 1);
  slot.due = false;
  update_all(work, slots, factor_in_backward_);
  slot.parameter.set_grad({});
}

void Optimizer::zero_grad() {
  for (Slot& slot : slots_) slot.parameter.set_grad({});
}

std::vector<std::string> Optimizer::params_without_grad() const {
  std::vector<std::string> names;
  for (const Slot& slot : slots_)
    if (slot.parameter.requires_grad() && !slot.parameter.grad().defined())
      names.push_back(slot.name);
  return names;
}

void Optimizer::set_learning_rate(double learning_rate) {
  check_rates("optimizer", learning_rate, 0);
  for (Group& group : groups_) group.lr = learning_rate;
}

nn::StateDict Optimizer::state_dict() const {
  require_complete(slots_);
  nn::StateDict out = {{"step", full({}, steps_, Dtype::i64)}};
  for (const Slot& slot : slots_)
    for (const auto& [name, tensor] : slot.state) out[name] = tensor;
  return out;
}

void Optimizer::load_state_dict(const nn::StateDict& given) {
  nn::StateDict own = {{"step", Tensor::empty({}, Dtype::i64)}};
  for (const Slot& slot : slots_)
    for (const auto& [name, tensor] : slot.state) own[name] = slot.parameter;
  check_state("optimizer", given, own);
  const auto steps = given.at("step").item<std::int64_t>();
  std::vector<kernel::Copy> copies;
  for (const Slot& slot : slots_)
    for (const auto& [name, tensor] : slot.state)
      copies.push_back({tensor, part_of(kernel::contiguous(given.at(name)), slot.begin, slot.end)});
  kernel::copy_all(std::move(copies));
  steps_ = steps;
}

void load_state(const char* what, const nn::StateDict& given, const nn::StateDict& own) {
  check_state(what, given, own);
  std::vector<kernel::Copy> copies;
  for (const auto& [name, target] : own) copies.push_back({target, given.at(name)});
  kernel::copy_all(std::move(copies));
}

void clip_grad_value(const std::vector<nn::NamedTensor>& parameters, double limit) {
  require(limit > 0, "clip_grad_value: the limit must be positive, got ", limit);
  const NoGrad off;
  std::vector<std::pair<Tensor, Tensor>> clipped;  // parameter, gradient
  for (const nn::NamedTensor& each : parameters)
    if (each.tensor.grad().defined())
      clipped.emplace_back(each.tensor, clamp(each.tensor.grad(), -limit, limit));
  for (auto& [parameter, gradient] : clipped) parameter.set_grad(gradient);
}

std::vector<Group> no_decay_on_1d(const std::vector<nn::NamedTensor>& parameters,
                                  double weight_decay) {
  Group matrices{{}, -1, weight_decay}, others{{}, -1, 0};
  for (const nn::NamedTensor& each : parameters)
    (each.tensor.rank() >= 2 ? matrices : others).parameters.push_back(each);
  return {std::move(matrices), std::move(others)};
}

std::vector<Group> groups(const std::vector<nn::NamedTensor>& parameters,
                          const std::vector<Rule>& rules) {
  std::vector<Group> out;
  std::vector<nn::NamedTensor> rest = parameters;
  for (const Rule& rule : rules) {
    static_cast<void>(nn::matching(parameters, rule.pattern));  // throws if nothing matches
    const auto own = std::stable_partition(
        rest.begin(), rest.end(),
        [&](const nn::NamedTensor& each) { return !nn::matches(rule.pattern, each.name); });
    out.push_back({{own, rest.end()}, rule.lr, rule.weight_decay});
    rest.erase(own, rest.end());
  }
  out.push_back({std::move(rest)});
  return out;
}

}  // namespace gradus::optim
