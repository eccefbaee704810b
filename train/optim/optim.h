// Optimisers: what turns gradients into new parameters.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gradus/engine/observer.h"
#include "gradus/nn/module.h"

namespace gradus::distributed {
class Transport;  // train/distributed/transport.h
}

namespace gradus::optim {

/// Parameters that share their settings. A negative setting stands for the optimiser's own.
struct Group {
  std::vector<nn::NamedTensor> parameters;
  double lr = -1;
  double weight_decay = -1;
};

/// In place of each parameter's grad(): what several shards gave, for this process's part.
struct FlatGradient {
  Tensor numbers;             // of the part, one after the other: [part_end() − part_begin()]
  std::vector<char> reached;  // for each parameter, in the order of the groups: has it a gradient
};

struct StepOptions {
  double clip_norm = 0;      // > 0: gradients count as scaled down to this global norm
  double factor = 1;         // of every learning rate: what a schedule says for this step
  bool only_finite = false;  // a norm that is not finite changes nothing: step() just returns it
  const FlatGradient* gradient = nullptr;
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
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One update of every parameter that wants a gradient and has one; returns the global norm
  /// √ Σ g² before clipping. GraphError when no parameter has a gradient. If it throws, as for want
  /// of memory, everything is as before. The first step says on stderr, in one line, which
  /// parameters have no gradient although others do.
  double step(const StepOptions& options = {});
  /// Call it before backward() instead of step() after it. Each parameter is updated, and its
  /// gradient freed, as soon as backward has completed the gradient, so that few gradients exist at
  /// a time. `factor` as in StepOptions; the global norm, and so clipping by it, is not known then.
  /// If backward throws, each parameter has been updated completely or not at all. Those that have
  /// not wait for the next backward.
  void step_in_backward(double factor = 1);
  void zero_grad();  // forgets all gradients

  /// Parameters that want a gradient and have none now, by name: what backward did not reach.
  std::vector<std::string> unreached() const;
  void report_unreached(bool on) { reports_unreached_ = on; }  // in the first step; on by default

  std::int64_t steps() const { return steps_; }
  const std::vector<Group>& groups() const { return groups_; }
  void set_learning_rate(double learning_rate);  // of every group

  /// From now on this process keeps moments for its part of the parameters alone, and step() wants
  /// a FlatGradient and updates that part (ZeRO stage 1, Rajbhandari et al. 2020). Parts do not
  /// change a bit of the result: they are cut inside a parameter at multiples of 1024 numbers, and
  /// the norm is summed in these. With one process the part is everything. Before load_state_dict.
  void shard(distributed::Transport& transport);
  /// The parameters, one after the other in the order of the groups.
  std::vector<nn::NamedTensor> flat() const;
  const std::vector<std::int64_t>& cuts() const { return cuts_; }  // of these, size() + 1 numbers
  std::int64_t part_begin() const;
  std::int64_t part_end() const;
  std::int64_t part_chunks() const;  // sums of squares that this process tells the others

  /// What a checkpoint must hold: "exp_avg.blocks.0.…", "step". load_state refuses misfits. Of an
  /// optimiser in parts all processes call it at the same time, and rank 0 gets all, others {}.
  nn::StateDict state_dict() const;
  void load_state_dict(const nn::StateDict& state);

 protected:
  Optimizer(std::vector<Group> groups, double learning_rate, double weight_decay,
            std::vector<std::vector<std::string>> slots);  // of each group; the last: of all others

  /// Part of one parameter: kernels work on pieces, so that big and small ones share the threads.
  /// Its tensors are contiguous and equally long: views of the part, or the whole as it is shaped.
  struct Piece {
    const Group* group;
    Tensor parameter, gradient;
    std::vector<Tensor> slots;  // as named in the constructor
    std::int64_t chunk;         // the first of those that the norm is summed in
    double learning_rate = 0;   // times the step's factor
    double scale = 1;           // of the gradient: clipping
    Tensor direction = {};      // from prepare()
  };
  /// Computes what update() needs and cannot compute without memory, into piece.direction. Writes
  /// to nothing else: it may throw.
  virtual void prepare(Piece&) const {}
  virtual void update(const Piece& piece) const = 0;  // allocates nothing
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
    std::vector<Tensor> tensors;            // of [begin, end)
    std::int64_t offset, chunk;             // of the first number among all; of the first chunk
    std::int64_t begin, end;                // this process's part of the parameter
    std::optional<HookHandle> hook = {};    // step_in_backward()'s
    bool due = false;                       // it waits for a gradient
  };
  std::vector<Piece> pieces(const FlatGradient* flat) const;
  std::vector<Piece> pieces_of(const Slot& slot, const FlatGradient* flat) const;
  std::int64_t piece_size(const Slot& slot) const;
  double squared_norm(const std::vector<Piece>& work) const;
  void prepare_all(std::vector<Piece>& work, double factor, double scale) const;
  void update_all(std::vector<Piece>& work) const;
  void update_in_backward(Slot& slot);
  bool reached(const Slot& slot, const FlatGradient* flat) const;
  std::vector<const Slot*> unreached_slots(const FlatGradient* flat) const;
  void note_unreached(const FlatGradient* flat) const;
  void tell(void (Observer::*event)(const Update&), const Slot& slot, double factor) const;
  // Of parts: train/distributed/parts.cpp
  bool keeps_all() const;  // in the dictionary of its state
  std::int64_t chunk_at(std::int64_t cut) const;
  void gather_sums(std::vector<double>& sums) const;
  Tensor whole(const Slot& slot, const Tensor& part) const;  // at rank 0

  bool reports_unreached_ = true;
  std::vector<Group> groups_;
  std::vector<std::vector<std::string>> slot_names_;
  std::vector<Slot> slots_;
  distributed::Transport* transport_ = nullptr;  // null: shard() was not called
  std::vector<std::int64_t> cuts_;
  double factor_in_backward_ = 1;
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
