// Muon: momentum, made orthogonal, for the matrices of hidden layers; AdamW for the rest.
#pragma once

#include "gradus/train/optim/optim.h"

namespace gradus::optim {

struct MuonOptions {
  double lr = 0.02;  // of the matrices
  double momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0;          // of both, on the parameter, as AdamW's
  AdamOptions adam = {.lr = 3e-4};  // of the others; its weight_decay is not used
};

/// Jordan et al. 2024, https://kellerjordan.github.io/posts/muon, for p [m, n]:
///   b = μ b + (1−μ) g;  u = (1−μ) g + μ b with Nesterov's rule, else b
///   p −= lr · weight_decay · p + lr · √max(1, m/n) · newton_schulz(u)
/// Embeddings, the head, and what is no matrix belong to the others.
class Muon : public Optimizer {
 public:
  /// A negative setting of a group stands for the options'. ShapeError: a matrix that is none.
  Muon(Group matrices, Group others, const MuonOptions& options = {});

 private:
  void prepare(Piece& piece) const override;
  void update(const Piece& piece) const override;
  bool takes_whole(const Group& group) const override { return &group == &groups().front(); }
  MuonOptions options_;
};

/// About U Vᵀ where x [m, n] = U S Vᵀ: five steps of X = a X + b (X Xᵀ) X + c (X Xᵀ)² X from
/// x / ‖x‖, with (a, b, c) = (3.4445, −4.7750, 2.0315), which Jordan chose for their slope at 0:
/// singular values end between 0.7 and 1.2, not at 1.
Tensor newton_schulz(const Tensor& x);

/// Two groups for Muon: matrices whose names match no pattern of `not_hidden`, and all others.
struct MuonGroups {
  Group matrices, others;
};
MuonGroups muon_groups(const std::vector<nn::NamedTensor>& parameters,
                       const std::vector<std::string>& not_hidden = {"*embedding*", "*head*"});

}  // namespace gradus::optim
