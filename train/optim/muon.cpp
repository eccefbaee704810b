// All directions are computed before any write, so nothing has changed if memory runs out. One
// thread updates an entire matrix.
#include "gradus/train/optim/muon.h"

#include <algorithm>
#include <cmath>

#include "gradus/engine/grad_mode.h"
#include "gradus/nn/pattern.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/members.h"
#include "gradus/ops/normalization.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/train/optim/stages.h"

namespace gradus::optim {
namespace {

constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
constexpr int kIterations = 5;
constexpr double kEps = 1e-7;  // value of Jordan et al.; a gradient of 0 stays 0

/// Returns f(x), or f(xᵀ)ᵀ if xᵀ has fewer rows.
template <class F>
Tensor with_few_rows(const char* name, const Tensor& x, F&& f) {
  require<ShapeError>(x.rank() == 2, name, ": expected a matrix, got ", x.shape());
  if (x.size(0) <= x.size(1)) return f(x);
  return transpose(f(transpose(x, 0, 1).contiguous()), 0, 1);
}

Tensor normalize_rows(const Tensor& x) {
  const auto n = static_cast<double>(std::max<std::int64_t>(x.size(1), 1));
  return rms_norm(x, {}, 1e-30) / std::sqrt(n);
}

/// Computes q = T⁻¹ q by forward substitution. T is the lower triangle of `lower`, with unit
/// diagonal.
template <class T>
GRADUS_INLINE void solve_lower(const T* lower, std::int64_t stride, T* q, std::int64_t rows,
                               std::int64_t columns) {
  for (std::int64_t i = 1; i < rows; ++i)
    for (std::int64_t j = 0; j < i; ++j)
      for (std::int64_t c = 0; c < columns; ++c)
        q[i * columns + c] -= lower[i * stride + j] * q[j * columns + c];
}

/// Returns T⁻¹ q, computed in blocks of rows. T is the lower triangle of q qᵀ, with unit diagonal.
Tensor solve_own_triangle(const Tensor& q) {
  constexpr std::int64_t kRows = 32;
  Tensor solved = q.clone();
  for (std::int64_t i = 0, end; i < q.size(0); i = end) {
    end = std::min(i + kRows, q.size(0));
    Tensor rows = slice(solved, 0, i, end);
    const Tensor lower = matmul(rows, transpose(slice(q, 0, 0, end), 0, 1));
    if (i > 0) rows.copy_(rows - matmul(slice(lower, 1, 0, i), slice(solved, 0, 0, i)));
    dispatch_float("mud", q.dtype(), [&]<class T>() {
      simd::run<solve_lower<T>>(lower.data<T>() + i, end, elements<T>(rows), end - i, q.size(1));
    });
  }
  return solved;
}

template <class T>
GRADUS_INLINE void muon_kernel(T* p, const T* g, const T* direction, T* buffer, std::int64_t n,
                               std::array<double, 4> constants) {
  const auto [momentum, scale, keep, size] = as<T>(constants);
  for (std::int64_t i = 0; i < n; ++i) {
    buffer[i] = buffer[i] * momentum + g[i] * scale;
    p[i] = p[i] * keep - direction[i] * size;
  }
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return nn::matches(pattern, name); });
}

std::vector<Group> two_groups(Group matrices, Group others, const MuonOptions& options) {
  if (others.lr < 0) others.lr = options.adam.lr;
  for (const nn::NamedTensor& each : matrices.parameters)
    require<ShapeError>(each.tensor.rank() == 2, "Muon: ", each.name, " ", each.tensor.shape(),
                        " is not a matrix. Put it among the others, which AdamW updates.");
  return {std::move(matrices), std::move(others)};
}

}  // namespace

Tensor newton_schulz(const Tensor& matrix) {
  return with_few_rows("newton_schulz", matrix, [](const Tensor& x) {
    const std::int64_t m = x.size(0), n = x.size(1);
    const Tensor I = eye(m, x.dtype());
    // a I + b G + c G²
    const auto polynomial = [&](const Tensor& gram) {
      return kA * I + kB * gram + kC * matmul(gram, gram);
    };
    Tensor y = x / std::max(std::sqrt(sum(square(x)).item()), kEps);
    if (n < 2 * m) {
      for (int i = 0; i < kIterations; ++i)
        y = matmul(polynomial(matmul(y, transpose(y, 0, 1))), y);
      return y;
    }
    // Y = P X, where P is a polynomial of G = X Xᵀ. Iterating on P and G requires only m × m
    // matrices.
    Tensor gram = matmul(y, transpose(y, 0, 1)), p = I;
    for (int i = 0; i < kIterations; ++i) {
      const Tensor z = polynomial(gram);
      p = matmul(z, p);
      gram = matmul(matmul(z, gram), z);
    }
    return matmul(p, y);
  });
}

Tensor mud(const Tensor& matrix) {
  const NoGrad off;
  return with_few_rows("mud", matrix, [](const Tensor& x) {
    return normalize_rows(solve_own_triangle(normalize_rows(x).contiguous()));
  });
}

Muon::Muon(Group matrices, Group others, const MuonOptions& options)
    : Optimizer(two_groups(std::move(matrices), std::move(others), options), options.lr,
                options.weight_decay,
                {GroupState{{"momentum_buffer"}, true}, GroupState{{"exp_avg", "exp_avg_sq"}}}),
      options_(options) {
  require(0 <= options.momentum && options.momentum < 1, "Muon: momentum must be in [0, 1), got ",
          options.momentum);
  check_adam("Muon", options.adam);
  for (const nn::NamedTensor& each : this->groups().front().parameters)
    if (matches_any(options.stacked, each.name)) stacked_.push_back(each.tensor.node().get());
}

std::int64_t Muon::rows_at_once(const Tensor& matrix) const {
  const bool stacks =
      std::find(stacked_.begin(), stacked_.end(), matrix.node().get()) != stacked_.end();
  return stacks ? std::min(matrix.size(0), matrix.size(1)) : matrix.size(0);
}

void Muon::prepare(Piece& piece) const {
  if (!is_matrix(piece)) return;
  const double mu = options_.momentum;
  const Tensor gradient = piece.gradient * (piece.scale * (1 - mu));
  const Tensor buffer = piece.state[0] * mu + gradient;
  Tensor u = options_.nesterov ? gradient + buffer * mu : buffer;
  const std::int64_t m = u.size(0), rows = rows_at_once(piece.parameter);
  for (std::int64_t i = 0; i < m; i += rows) {
    Tensor one = slice(u, 0, i, std::min(i + rows, m));
    one.copy_(options_.orthogonalizer == Orthogonalizer::mud ? mud(one) : newton_schulz(one));
  }
  piece.direction = u;
}

void Muon::update(const Piece& piece) const {
  if (!is_matrix(piece)) return adam_update(piece, options_.adam, true, steps_);
  const auto rows = static_cast<double>(rows_at_once(piece.parameter)),
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
    const bool hidden = each.tensor.rank() == 2 && !matches_any(not_hidden, each.name);
    (hidden ? out.matrices : out.others).parameters.push_back(each);
  }
  return out;
}

}  // namespace gradus::optim
