// Optimisers: what turns gradients into new parameters.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gradus/nn/module.h"

namespace gradus::optim {

/// Parameters that share their settings. A negative setting stands for the optimiser's own.
struct Group {
  std::vector<nn::NamedTensor> parameters;
  double lr = -1;
  double weight_decay = -1;
};

struct StepOptions {
  double clip_norm = 0;      // > 0: gradients count as scaled down to this global norm
  double factor = 1;         // of every learning rate: what a schedule says for this step
  bool only_finite = false;  // a norm that is not finite changes nothing: step() just returns it
};

struct AdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
};
struct AdamWOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 1e-2;
};

/// The base of all. An optimiser keeps handles on the parameters it was made with: build it after
/// model.to(dtype) and loading; step() refuses parameters that a module has replaced since.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One update of every parameter that wants a gradient and has one; returns the global norm
  /// √ Σ g² before clipping. GraphError when no parameter has a gradient. The first step says on
  /// stderr, in one line, which parameters have none although others do.
  double step(const StepOptions& options = {});
  /// In place of step(), before backward(): which then updates each parameter as soon as its
  /// gradient is complete, and forgets that, so that few gradients exist at a time. `factor` as in
  /// StepOptions; the global norm, and so clipping by it, is not known then.
  void step_in_backward(double factor = 1);
  void zero_grad();  // forgets all gradients

  /// Parameters that want a gradient and have none now, by name: what backward did not reach.
  std::vector<std::string> unreached() const;
  void report_unreached(bool on) { reports_unreached_ = on; }  // in the first step; on by default

  std::int64_t steps() const { return steps_; }
  const std::vector<Group>& groups() const { return groups_; }
  void set_learning_rate(double learning_rate);  // of every group

  /// What a checkpoint must hold: "exp_avg.blocks.0.…", "step". load_state refuses misfits.
  nn::StateDict state_dict() const;
  void load_state_dict(const nn::StateDict& state);

 protected:
  Optimizer(std::vector<Group> groups, double learning_rate, double weight_decay,
            std::vector<std::vector<std::string>> slots);  // of each group; the last: of all others

  /// Part of one parameter: kernels work on pieces, so that big and small ones share the threads.
  struct Piece {
    const Group* group;
    Tensor parameter, gradient;
    std::vector<Tensor> slots;  // as named in the constructor
    std::int64_t begin, end;
    double learning_rate;  // times the step's factor
    double scale;          // of the gradient: clipping
  };
  virtual void update(const Piece& piece) const = 0;
  static void check_betas(const char* name, const std::array<double, 2>& betas);  // ValueError
  void adam_step(const Piece& piece, const AdamOptions& options, bool decoupled) const;
  virtual bool takes_whole(const Group&) const { return false; }  // parameters, in one piece

  std::int64_t steps_ = 0;  // with the one being made

 private:
  struct Slot {
    std::string name;
    Tensor parameter;
    const Group* group;
    const std::vector<std::string>* names;  // of the tensors
    std::vector<Tensor> tensors;
    bool due = false;  // step_in_backward() waits for its gradient
  };
  std::vector<Piece> pieces() const;
  std::vector<Piece> pieces_of(const Slot& slot) const;
  void update_all(std::vector<Piece>& work, double factor, double scale) const;
  std::vector<const Slot*> unreached_slots() const;
  void note_unreached() const;

  bool reports_unreached_ = true;
  std::vector<Group> groups_;
  std::vector<std::vector<std::string>> slot_names_;
  std::vector<Slot> slots_;
  std::shared_ptr<double> in_backward_;  // the factor; dies with this optimiser
};

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double weight_decay = 0;  // added to the gradient
  bool nesterov = false;
};
/// v = momentum · v + g;  p −= lr · v, or lr · (g + momentum · v) with Nesterov's.
class SGD : public Optimizer {
 public:
  SGD(std::vector<Group> groups, const SGDOptions& options = {});
  SGD(std::vector<nn::NamedTensor> parameters, const SGDOptions& options = {})
      : SGD(std::vector<Group>{{std::move(parameters)}}, options) {}

 private:
  void update(const Piece& piece) const override;
  SGDOptions options_;
};

/// m = β1 m + (1−β1) g;  v = β2 v + (1−β2) g²;  p −= lr · m̂ / (√v̂ + eps), with m̂ = m / (1−β1^t)
/// and v̂ = v / (1−β2^t). Kingma & Ba 2015. Weight decay is added to the gradient.
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

/// Adam with the decay on the parameter: p −= lr · weight_decay · p. Loshchilov & Hutter 2019.
class AdamW : public Adam {
 public:
  AdamW(std::vector<Group> groups, const AdamWOptions& options = {})
      : Adam(std::move(groups), {options.lr, options.betas, options.eps, options.weight_decay},
             true) {}
  AdamW(std::vector<nn::NamedTensor> parameters, const AdamWOptions& options = {})
      : AdamW(std::vector<Group>{{std::move(parameters)}}, options) {}
};

struct LionOptions {
  double lr = 1e-4;
  std::array<double, 2> betas = {0.9, 0.99};
  double weight_decay = 0;
};
/// p −= lr · (sign(β1 m + (1−β1) g) + weight_decay · p);  m = β2 m + (1−β2) g. Chen et al. 2023,
/// "Symbolic discovery of optimization algorithms". Every number moves by lr, so that rates are
/// three to ten times smaller than Adam's.
class Lion : public Optimizer {
 public:
  Lion(std::vector<Group> groups, const LionOptions& options = {});
  Lion(std::vector<nn::NamedTensor> parameters, const LionOptions& options = {})
      : Lion(std::vector<Group>{{std::move(parameters)}}, options) {}

 private:
  void update(const Piece& piece) const override;
  LionOptions options_;
};

/// Copies the state `given` into `own`, which is of a `what`. ShapeError: a name is missing, or of
/// another shape or dtype, or `own` lacks it.
void load_state(const char* what, const nn::StateDict& given, const nn::StateDict& own);

/// Every gradient's numbers are cut to [−limit, limit], between backward() and step().
void clip_grad_value(const std::vector<nn::NamedTensor>& parameters, double limit);

/// Weight decay for matrices, none for what has one axis (biases, norms): the usual two groups.
std::vector<Group> decay_matrices_only(const std::vector<nn::NamedTensor>& parameters,
                                       double weight_decay);

}  // namespace gradus::optim
