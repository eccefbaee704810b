// Muon: orthogonalized momentum for the matrices of hidden layers, and AdamW for the rest.
#pragma once

#include "gradus/train/optim/optim.h"

namespace gradus::optim {

/// How Muon orthogonalizes an update: a step with newton_schulz learns more, one with mud is
/// cheaper.
enum class Orthogonalizer { newton_schulz, mud };

struct MuonOptions {
  double lr = 0.02;  // of the matrices
  double momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0;          // of both groups, on the parameter as in AdamW
  AdamOptions adam = {.lr = 3e-4};  // of the other parameters; its weight_decay is not used
  Orthogonalizer orthogonalizer = Orthogonalizer::newton_schulz;
  /// Patterns for names of matrices that stack several square ones, the last of which may have
  /// fewer rows. Each square one is orthogonalized by itself.
  std::vector<std::string> stacked = {"*qkv_proj*"};
};

/// Jordan et al. 2024, https://kellerjordan.github.io/posts/muon, for p [m, n]:
///   b = μ b + (1−μ) g;  u = (1−μ) g + μ b with Nesterov's rule, else b
///   p −= lr · weight_decay · p + lr · √max(1, m/n) · newton_schulz(u)    or mud(u)
/// Embeddings, the head, and parameters that are not matrices belong to the others.
class Muon : public Optimizer {
 public:
  /// A negative setting of a group takes the options'. ShapeError unless `matrices` are matrices.
  Muon(Group matrices, Group others, const MuonOptions& options = {});

 private:
  void prepare(Piece& piece) const override;
  void update(const Piece& piece) const override;
  bool is_matrix(const Piece& piece) const { return piece.group == &groups().front(); }
  /// How many rows of a matrix count as one.
  std::int64_t rows_at_once(const Tensor& matrix) const;
  MuonOptions options_;
  std::vector<const Node*> stacked_;
};

/// Approximately U Vᵀ where x [m, n] = U S Vᵀ: five steps of X = a X + b (X Xᵀ) X + c (X Xᵀ)² X
/// from x / ‖x‖, with (a, b, c) = (3.4445, −4.7750, 2.0315). Jordan chose these for their slope at
/// 0: singular values end between 0.7 and 1.2, not at 1.
Tensor newton_schulz(const Tensor& x);

/// x [m, n] with its rows (columns if there are fewer) made less similar and of length 1:
///   Q = x, rows of length 1;  T = tril(Q Qᵀ);  Q = T⁻¹ Q, rows of length 1
/// This is one step of Gauss–Seidel towards orthonormal rows; a row of zeros stays. Southworth &
/// Thomas 2026, arXiv:2603.17970.
Tensor mud(const Tensor& x);

/// The two groups of Muon.
struct MuonGroups {
  Group matrices, others;
};
/// Matrices whose names match no pattern of `not_hidden` (nn/pattern.h), and all other parameters.
/// The default patterns are of tables and heads, as Gradus's models and others name them.
MuonGroups muon_groups(const std::vector<nn::NamedTensor>& parameters,
                       const std::vector<std::string>& not_hidden = {
                           "*embedding*,*token*,*position*,*segment*,*relative*,*head*"});

}  // namespace gradus::optim
