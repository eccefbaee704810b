// A matrix is updated as a whole, by one thread; the other parameters in pieces, by AdamW's kernel.
// The directions of all matrices are computed first, so nothing is written if memory runs out.
#include "gradus/train/optim/muon.h"

#include <algorithm>
#include <cmath>

#include "gradus/nn/pattern.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/train/optim/stages.h"

namespace gradus::optim {
namespace {

constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
constexpr int kIterations = 5;
constexpr double kEps = 1e-7;  // Jordan's: a gradient of 0 stays 0

template <class T>
GRADUS_INLINE void muon_kernel(T* p, const T* g, const T* direction, T* buffer, std::int64_t n,
                               std::array<double, 4> constants) {
  const auto [momentum, scale, keep, size] = as<T>(constants);
  for (std::int64_t i = 0; i < n; ++i) {
    buffer[i] = buffer[i] * momentum + g[i] * scale;
    p[i] = p[i] * keep - direction[i] * size;
  }
}

std::vector<Group> two_groups(Group matrices, Group others, const MuonOptions& options) {
  if (others.lr < 0) others.lr = options.adam.lr;
  for (const nn::NamedTensor& each : matrices.parameters)
    require<ShapeError>(each.tensor.rank() == 2, "Muon: ", each.name, " ", each.tensor.shape(),
                        " is not a matrix: put it among the others, which AdamW updates");
  return {std::move(matrices), std::move(others)};
}

}  // namespace

Tensor newton_schulz(const Tensor& x) {
  require<ShapeError>(x.rank() == 2, "newton_schulz: needs a matrix, not ", x.shape());
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
                options.weight_decay,
                {GroupState{{"momentum_buffer"}, true}, GroupState{{"exp_avg", "exp_avg_sq"}}}),
      options_(options) {
  require(0 <= options.momentum && options.momentum < 1, "Muon: momentum ", options.momentum,
          " is not in [0, 1)");
}

void Muon::prepare(Piece& piece) const {
  if (!is_matrix(piece)) return;
  const double mu = options_.momentum;
  const Tensor gradient = piece.gradient * (piece.scale * (1 - mu));
  const Tensor buffer = piece.state[0] * mu + gradient;
  piece.direction = newton_schulz(options_.nesterov ? gradient + buffer * mu : buffer).contiguous();
}

void Muon::update(const Piece& piece) const {
  if (!is_matrix(piece)) return adam_update(piece, options_.adam, true, steps_);
  const auto rows = static_cast<double>(piece.parameter.size(0)),
             columns = static_cast<double>(piece.parameter.size(1));
  const std::array constants{options_.momentum, piece.scale * (1 - options_.momentum),
                             1 - piece.learning_rate * piece.group->weight_decay,
                             piece.learning_rate * std::sqrt(std::max(1.0, rows / columns))};
  dispatch_float("Muon", piece.parameter.dtype(), [&]<class T>() {
    simd::run<muon_kernel<T>>(elements<T>(piece.parameter), piece.gradient.data<T>(),
                              piece.direction.data<T>(), elements<T>(piece.state[0]),
                              piece.parameter.numel(), constants);
  });
}

MuonGroups muon_groups(const std::vector<nn::NamedTensor>& parameters,
                       const std::vector<std::string>& not_hidden) {
  MuonGroups out;
  for (const nn::NamedTensor& each : parameters) {
    const bool excluded =
        std::any_of(not_hidden.begin(), not_hidden.end(),
                    [&](const std::string& pattern) { return nn::matches(pattern, each.name); });
    const bool hidden = each.tensor.rank() == 2 && !excluded;
    (hidden ? out.matrices : out.others).parameters.push_back(each);
  }
  return out;
}

}  // namespace gradus::optim
