// Optimizers: SGD, Adam, AdamW, Lion.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gradus/nn/module.h"

namespace gradus::distributed {
class ShardedOptimizer;  // train/distributed/sharded_optimizer.h
}

namespace gradus::optim {

struct Slot;  // one parameter with its state; defined in stages.h

/// Parameters with common settings. Negative settings default to those of the optimizer.
struct Group {
  std::vector<nn::NamedTensor> parameters;
  double lr = -1;
  double weight_decay = -1;
};

/// The state that an optimizer stores for each parameter in a group.
struct GroupState {
  /// Names as in PyTorch, except for SGD's "velocity". The tensors have the parameter's shape and
  /// start as 0.
  std::vector<std::string> names;
  bool whole = false;  // true if update() needs the entire parameter
};

/// Options of Optimizer::step().
struct StepOptions {
  double clip_norm = 0;      // > 0: scales gradients down to this global norm
  double factor = 1;         // scales every learning rate; from the schedule
  bool only_finite = false;  // if the norm is not finite, returns it and changes nothing
};

/// Part of a parameter. Large parameters are split among threads. Tensors are contiguous. If the
/// piece is an entire parameter, they have its shape.
struct Piece {
  const Group* group;
  Tensor parameter, gradient;
  std::vector<Tensor> state;  // in the order of GroupState::names
  std::int64_t chunk;         // index of its first chunk; see stages.h
  double learning_rate = 0;   // includes the factor of this step
  double scale = 1;           // scales the gradient, for clipping
  Tensor direction = {};      // set by prepare()
};

/// Base class of optimizers. Construct after model.to(dtype) and after loading: step() throws
/// GraphError if a parameter was replaced.
class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that requires and has a gradient. Returns the global gradient norm √ Σ
  /// g² before clipping. Throws GraphError if there is no gradient; nothing has changed after an
  /// exception. The first step warns on stderr about parameters without a gradient.
  double step(const StepOptions& options = {});
  /// Call before backward(); no step() follows. Updates each parameter and frees its gradient as
  /// soon as the gradient is complete. Cannot clip. If backward throws, each parameter is updated
  /// completely or not at all; the next backward() updates the others.
  void step_in_backward(double factor = 1);
  void zero_grad();  // frees all gradients

  /// Returns the names of parameters that require a gradient but have none.
  std::vector<std::string> params_without_grad() const;
  void warn_params_without_grad(bool on) { warns_ = on; }  // default: on

  std::int64_t steps() const { return steps_; }
  const std::vector<Group>& groups() const { return groups_; }
  void set_learning_rate(double learning_rate);  // sets it for every group

  /// Returns "step" and state tensors such as "exp_avg.blocks.0.…". Loading throws ShapeError if a
  /// name, shape or dtype differs. After an exception, nothing has changed.
  nn::StateDict state_dict() const;
  void load_state_dict(const nn::StateDict& state);

 protected:
  /// state[i] applies to group i; the last entry also applies to all further groups.
  Optimizer(std::vector<Group> groups, double learning_rate, double weight_decay,
            const std::vector<GroupState>& state);
  /// Computes piece.direction. May throw, but must not write anything else.
  virtual void prepare(Piece&) const {}
  /// Updates the piece (see elements() in stages.h), using gradient · piece.scale and the group's
  /// weight_decay. Must not allocate.
  virtual void update(const Piece& piece) const = 0;

  std::int64_t steps_ = 0;  // includes the step in progress

 private:
  friend class distributed::ShardedOptimizer;
  double apply(std::vector<Piece>& work, double norm, const StepOptions& options);
  void prepare_all(std::vector<Piece>& work, std::span<const Slot> slots, double factor,
                   double scale) const;
  void update_all(std::vector<Piece>& work, std::span<const Slot> slots, double factor) const;
  void update_in_backward(Slot& slot);

  std::vector<Group> groups_;
  std::vector<Slot> slots_;
  bool warns_ = true;
  double factor_in_backward_ = 1;
};

/// Options of SGD. Defaults are as in PyTorch.
struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;      // 0: plain gradient descent
  double weight_decay = 0;  // added to the gradient
  bool nesterov = false;    // uses the gradient plus momentum · velocity
};
/// SGD: v = momentum · v + g;  p −= lr · v. With `nesterov`: p −= lr · (g + momentum · v).
class SGD : public Optimizer {
 public:
  SGD(std::vector<Group> groups, const SGDOptions& options = {});
  SGD(std::vector<nn::NamedTensor> parameters, const SGDOptions& options = {})
      : SGD(std::vector<Group>{{std::move(parameters)}}, options) {}

 private:
  void update(const Piece& piece) const override;
  SGDOptions options_;
};

/// Options of Adam. Defaults are as in PyTorch.
struct AdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};  // β1, β2: decay of the two averages
  double eps = 1e-8;                           // added to the square root
  double weight_decay = 0;                     // added to the gradient
};
/// Adam, Kingma & Ba 2015. m = β1 m + (1−β1) g;  v = β2 v + (1−β2) g²;  p −= lr · m̂ / (√v̂ + eps),
/// with m̂ = m / (1−β1^t) and v̂ = v / (1−β2^t). Weight decay is added to the gradient.
class Adam : public Optimizer {
 public:
  Adam(std::vector<Group> groups, const AdamOptions& options = {})
      : Adam(std::move(groups), options, false) {}
  Adam(std::vector<nn::NamedTensor> parameters, const AdamOptions& options = {})
      : Adam(std::vector<Group>{{std::move(parameters)}}, options) {}

 protected:
  Adam(std::vector<Group> groups, const AdamOptions& options, bool decoupled);

 private:
  void update(const Piece& piece) const override;
  AdamOptions options_;
  bool decoupled_;
};
/// Applies Adam's update of step t to a piece. If `decoupled`, uses AdamW's weight decay.
void adam_update(const Piece& piece, const AdamOptions& options, bool decoupled, std::int64_t t);

/// Options of AdamW. Defaults are as in PyTorch.
struct AdamWOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 1e-2;  // applied to the parameter, not the gradient
};
/// Adam with weight decay applied to the parameter: p −= lr · weight_decay · p. Loshchilov & Hutter
/// 2019.
class AdamW : public Adam {
 public:
  AdamW(std::vector<Group> groups, const AdamWOptions& options = {})
      : Adam(std::move(groups), {options.lr, options.betas, options.eps, options.weight_decay},
             true) {}
  AdamW(std::vector<nn::NamedTensor> parameters, const AdamWOptions& options = {})
      : AdamW(std::vector<Group>{{std::move(parameters)}}, options) {}
};

/// Options of Lion. The betas default to those of Chen et al. 2023.
struct LionOptions {
  double lr = 1e-4;
  std::array<double, 2> betas = {0.9, 0.99};
  double weight_decay = 0;
};
/// Lion: p −= lr · (sign(β1 m + (1−β1) g) + weight_decay · p);  m = β2 m + (1−β2) g. Chen et al.
/// 2023, "Symbolic discovery of optimization algorithms". Every element moves by lr, so use a
/// learning rate 3 to 10 times lower than for Adam.
class Lion : public Optimizer {
 public:
  Lion(std::vector<Group> groups, const LionOptions& options = {});
  Lion(std::vector<nn::NamedTensor> parameters, const LionOptions& options = {})
      : Lion(std::vector<Group>{{std::move(parameters)}}, options) {}

 private:
  void update(const Piece& piece) const override;
  LionOptions options_;
};

/// Copies `given` into `own`. `what` names the owner in errors. Throws ShapeError if a name, shape
/// or dtype differs. After an exception, nothing has been copied.
void load_state(const char* what, const nn::StateDict& given, const nn::StateDict& own);

/// Clamps gradients to [−limit, limit]. Call between backward() and step(). After an exception, no
/// gradient has changed.
void clip_grad_value(const std::vector<nn::NamedTensor>& parameters, double limit);

/// Returns two groups: matrices with weight decay, and parameters with at most one axis (biases,
/// norms) without it.
std::vector<Group> no_decay_on_1d(const std::vector<nn::NamedTensor>& parameters,
                                  double weight_decay);

/// Settings for parameters whose names match (nn/pattern.h). Negative settings default to those of
/// the optimizer.
struct Rule {
  std::string pattern;  // matches names: "*.bias"
  double lr = -1;
  double weight_decay = -1;
};
/// Returns one group per rule, and one for the remaining parameters. The first matching rule
/// applies. Throws ValueError if a rule matches nothing.
///   AdamW(groups(model.parameters(), {{"*.bias", -1, 0}, {"encoder.*", 1e-4}}))
std::vector<Group> groups(const std::vector<nn::NamedTensor>& parameters,
                          const std::vector<Rule>& rules);

}  // namespace gradus::optim
