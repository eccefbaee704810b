// Muon: orthogonalized momentum for hidden matrices, AdamW for all other parameters.
#pragma once

#include "gradus/train/optim/optim.h"

namespace gradus::optim {

/// newton_schulz learns more per step; mud is faster.
enum class Orthogonalizer { newton_schulz, mud };

/// Options of Muon. `lr` and `momentum` apply to matrices, `adam` to all other parameters.
struct MuonOptions {
  double lr = 0.02;        // learning rate of matrices
  double momentum = 0.95;  // μ, for matrices
  bool nesterov = true;
  double weight_decay = 0;          // applies to both groups, as in AdamW
  AdamOptions adam = {.lr = 3e-4};  // for other parameters; its weight_decay is ignored
  Orthogonalizer orthogonalizer = Orthogonalizer::newton_schulz;
  /// Name patterns of matrices that are stacks of square matrices (the last may be shorter). Each
  /// square matrix is orthogonalized separately.
  std::vector<std::string> stacked = {"*qkv_proj*"};
};

/// Optimizer with orthogonalized momentum. Jordan et al. 2024,
/// https://kellerjordan.github.io/posts/muon. For p [m, n]:
///   b = μ b + (1−μ) g;  u = (1−μ) g + μ b with Nesterov's rule, else b
///   p −= lr · weight_decay · p + lr · √max(1, m/n) · newton_schulz(u)    or mud(u)
/// `others` receives embeddings, the head, and parameters that are not matrices.
class Muon : public Optimizer {
 public:
  /// Negative group settings default to those of `options`. Throws ShapeError unless all parameters
  /// in `matrices` have two axes.
  Muon(Group matrices, Group others, const MuonOptions& options = {});

 private:
  void prepare(Piece& piece) const override;
  void update(const Piece& piece) const override;
  bool is_matrix(const Piece& piece) const { return piece.group == &groups().front(); }
  /// Returns the number of rows to orthogonalize together.
  std::int64_t rows_at_once(const Tensor& matrix) const;
  MuonOptions options_;
  std::vector<const Node*> stacked_;
};

/// Approximates U Vᵀ, where x [m, n] = U S Vᵀ. Starts from x / ‖x‖ and runs five steps of X = a X +
/// b (X Xᵀ) X + c (X Xᵀ)² X with (a, b, c) = (3.4445, −4.7750, 2.0315). Jordan et al. chose these
/// coefficients because they give a steep slope at 0; singular values end between 0.7 and 1.2.
Tensor newton_schulz(const Tensor& x);

/// Makes the rows of x [m, n] (columns if n < m) closer to orthogonal, with length 1. Zero rows
/// stay zero.
///   Q = x, rows of length 1;  T = tril(Q Qᵀ);  Q = T⁻¹ Q, rows of length 1
/// This is one step of Gauss–Seidel toward orthonormal rows. Southworth & Thomas 2026,
/// arXiv:2603.17970.
Tensor mud(const Tensor& x);

/// The two parameter groups of Muon.
struct MuonGroups {
  Group matrices, others;  // updated by Muon, by AdamW
};
/// Splits parameters into matrices whose names match no pattern in `not_hidden` (default:
/// embeddings and heads), and all others.
MuonGroups muon_groups(const std::vector<nn::NamedTensor>& parameters,
                       const std::vector<std::string>& not_hidden = {
                           "*embedding*,*token*,*position*,*segment*,*relative*,*head*"});

}  // namespace gradus::optim
