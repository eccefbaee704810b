// A matrix is updated as a whole, by one thread; the others by AdamW's kernel, in pieces.
#include "gradus/train/muon.h"

#include <algorithm>
#include <cmath>

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/train/groups.h"

namespace gradus::optim {
namespace {

constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
constexpr int kIterations = 5;
constexpr double kEps = 1e-7;  // Jordan's: a gradient of 0 stays 0

std::vector<Group> two_groups(Group matrices, Group others, const MuonOptions& options) {
  if (others.lr < 0) others.lr = options.adam.lr;
  for (const nn::NamedTensor& each : matrices.parameters)
    require<ShapeError>(each.tensor.rank() == 2, "Muon: ", each.name, " ", each.tensor.shape(),
                        " is no matrix: put it among the others, which AdamW updates");
  return {std::move(matrices), std::move(others)};
}

}  // namespace

Tensor newton_schulz(const Tensor& x) {
  require<ShapeError>(x.rank() == 2, "newton_schulz: wants a matrix, not ", x.shape());
  const bool tall = x.size(0) > x.size(1);  // the smaller of X Xᵀ and Xᵀ X
  Tensor y = tall ? transpose(x, 0, 1) : x;
  y = y / std::max(std::sqrt(sum(square(y)).item()), kEps);
  for (int i = 0; i < kIterations; ++i) {
    const Tensor gram = matmul(y, transpose(y, 0, 1));
    y = kA * y + matmul(kB * gram + kC * matmul(gram, gram), y);
  }
  return tall ? transpose(y, 0, 1) : y;
}

Muon::Muon(Group matrices, Group others, const MuonOptions& options)
    : Optimizer(two_groups(std::move(matrices), std::move(others), options), options.lr,
                options.weight_decay, {{"momentum_buffer"}, {"exp_avg", "exp_avg_sq"}}),
      options_(options) {
  require(0 <= options.momentum && options.momentum < 1, "Muon: momentum ", options.momentum,
          " is not in [0, 1)");
}

void Muon::update(const Piece& piece) const {
  if (takes_whole(*piece.group))
    update_matrix(piece);
  else
    adam_step(piece, options_.adam, true);
}

void Muon::update_matrix(const Piece& piece) const {
  const double mu = options_.momentum, lr = piece.learning_rate;
  const Tensor gradient = piece.gradient * (piece.scale * (1 - mu));
  Tensor buffer = piece.slots[0], parameter = piece.parameter;
  buffer.copy_(buffer * mu + gradient);
  const Tensor direction = newton_schulz(options_.nesterov ? gradient + buffer * mu : buffer);
  const auto rows = static_cast<double>(parameter.size(0)),
             columns = static_cast<double>(parameter.size(1));
  parameter.copy_(parameter * (1 - lr * piece.group->weight_decay) -
                  direction * (lr * std::sqrt(std::max(1.0, rows / columns))));
}

MuonGroups muon_groups(const std::vector<nn::NamedTensor>& parameters,
                       const std::vector<std::string>& not_hidden) {
  MuonGroups out;
  for (const nn::NamedTensor& each : parameters) {
    const bool hidden =
        each.tensor.rank() == 2 &&
        std::none_of(not_hidden.begin(), not_hidden.end(),
                     [&](const std::string& pattern) { return matches(pattern, each.name); });
    (hidden ? out.matrices : out.others).parameters.push_back(each);
  }
  return out;
}

}  // namespace gradus::optim
