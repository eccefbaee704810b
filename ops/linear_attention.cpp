#include "gradus/ops/linear_attention.h"

#include <algorithm>
#include <cmath>

#include "gradus/engine/base/math64.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/mask/mask.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {
namespace {

constexpr std::int64_t kChunk = 64;  // balances the costs of a chunk's pairs and sums

/// Σ_{j ≤ i} (q_i · k_j) v_j: q, k [B, H, T, F], v [B, H, T, D] → [B, H, T, D].
Tensor causal_sums(const Tensor& q, const Tensor& k, const Tensor& v) {
  const std::int64_t B = q.size(0), H = q.size(1), T = q.size(2);
  const std::int64_t C = std::clamp<std::int64_t>(T, 1, kChunk), N = (T + C - 1) / C;
  const auto chunked = [&](const Tensor& x) {
    const Tensor whole = N * C > T ? pad(x, 2, 0, N * C - T) : x;  // [B, H, N·C, …]
    return reshape(whole, {B, H, N, C, x.size(3)});                // [B, H, N, C, …]
  };
  const Tensor qc = chunked(q), kc = chunked(k), vc = chunked(v);
  const Tensor inside = matmul(tril(matmul(qc, transpose(kc))), vc);    // [B, H, N, C, D]
  const Tensor sums = matmul(transpose(kc), vc);                        // [B, H, N, F, D]
  const Tensor before = slice(cumsum(pad(sums, 2, 1, 0), 2), 2, 0, N);  // sums of earlier chunks
  const Tensor y = reshape(inside + matmul(qc, before), {B, H, N * C, v.size(3)});
  return slice(y, 2, 0, T);
}

/// Computes the attention output. A column of ones appended to v yields the denominator.
Tensor normalised(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double eps) {
  const std::int64_t Dv = v.size(3);
  const Tensor with_ones = cat({v, ones({v.size(0), v.size(1), v.size(2), 1}, v.dtype())}, 3);
  const Tensor sums = causal ? causal_sums(q, k, with_ones)
                             : matmul(q, matmul(transpose(k), with_ones));  // [B, H, T, Dv + 1]
  const Tensor divisor = slice(sums, 3, Dv, Dv + 1) + eps;
  return slice(sums, 3, 0, Dv) / masked_fill(divisor, equal(divisor, 0.0), 1);
}

void check_sizes(const char* name, const Tensor& q, const Tensor& k, const Tensor& v, bool causal) {
  check_defined(name, q, k, v);
  require<ShapeError>(q.rank() == 4 && k.rank() == 4 && v.rank() == 4, name, ": q ", q.shape(),
                      ", k ", k.shape(), " and v ", v.shape(),
                      " must be [batch, heads, length, width]");
  const bool fit = q.size(0) == k.size(0) && q.size(1) == k.size(1) && q.size(3) == k.size(3) &&
                   k.size(0) == v.size(0) && k.size(1) == v.size(1) && k.size(2) == v.size(2);
  require<ShapeError>(fit, name, ": q ", q.shape(), ", k ", k.shape(), " and v ", v.shape(),
                      " do not fit. Batch sizes, heads, the widths of q and k, and the lengths of ",
                      "k and v must be equal.");
  require<ShapeError>(!causal || q.size(2) == k.size(2), name, ": causal attention needs as many ",
                      "queries as keys, got ", q.size(2), " and ", k.size(2));
}

/// w_m · x − |x|² / 2
Tensor favor_exponents(const Tensor& x, const Tensor& projection) {
  require<ShapeError>(
      projection.rank() == 2 && projection.size(0) > 0 && projection.size(1) == x.size(-1),
      "FAVOR+ features: the projection for queries or keys ", x.shape(), " must be [features, ",
      x.size(-1), "] with at least one feature, got ",
      projection.defined() ? to_string(projection.shape()) : "an undefined tensor");
  return linear(x, projection) - 0.5 * sum(square(x), {-1}, true);
}

/// Exponents are at most max |w|² / 2. Subtracting 60 less than that keeps the features and their
/// sums over keys within the range of f32.
double safe_shift(const Tensor& projection) {
  return std::max(0.0, 0.5 * max(sum(square(projection), {1})).item() - 60);
}

}  // namespace

Tensor mask_padding(const Tensor& x, const std::vector<std::int64_t>& lengths) {
  if (lengths.empty()) return x;
  require<ShapeError>(x.rank() == 4, "mask_padding: x must be [batch, heads, length, width], got ",
                      x.defined() ? to_string(x.shape()) : "an undefined tensor");
  for (const std::int64_t length : lengths)
    require<ShapeError>(length <= x.size(2), "mask_padding: a length of ", length, " exceeds the ",
                        x.size(2), " positions of x ", x.shape(), ". Pass shorter lengths.");
  const Tensor seen = padding_mask(lengths).dense({x.size(0), 1, 1, x.size(2)});  // [B, 1, 1, S]
  return masked_fill(x, transpose(logical_not(seen)), 0);
}

Tensor linear_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                        const LinearAttentionOptions& options) {
  check_sizes("linear_attention", q, k, v, options.causal);
  require(options.eps >= 0, "linear_attention: eps must not be negative, got ", options.eps);
  const auto feature = [&](const Tensor& x) {
    return options.feature == FeatureMap::relu ? relu(x) : elu(x) + 1;
  };
  const Tensor keys = mask_padding(feature(mask_padding(k, options.lengths)), options.lengths);
  return normalised(feature(q), keys, mask_padding(v, options.lengths), options.causal,
                    options.eps);
}

Tensor performer_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                           const Tensor& projection, const PerformerOptions& options) {
  check_sizes("performer_attention", q, k, v, options.causal);
  const double scale = math64::pow(static_cast<double>(q.size(3)), -0.25);
  Tensor qe = favor_exponents(q * scale, projection);  // [B, H, T, M]
  Tensor ke =
      favor_exponents(mask_padding(k, options.lengths) * scale, projection);  // [B, H, S, M]
  qe = qe - max(qe.detach(), {3}, true);
  if (options.causal)
    ke = ke - safe_shift(projection);
  else if (ke.numel() > 0)
    ke = ke - max(ke.detach(), {2, 3}, true);
  const Tensor keys = mask_padding(exp(ke), options.lengths);
  return normalised(exp(qe), keys, mask_padding(v, options.lengths), options.causal, 0);
}

Tensor favor_features(const Tensor& x, const Tensor& projection, const Tensor& shift) {
  const Tensor exponents = favor_exponents(x, projection);
  const double norm = 1 / std::sqrt(static_cast<double>(projection.size(0)));
  return exp(shift.defined() ? exponents - shift : exponents) * norm;
}

Tensor orthogonal_projection(std::int64_t features, std::int64_t width, const RandomStream& stream,
                             Dtype dtype) {
  require(features > 0 && width > 0,
          "orthogonal_projection: features and width must be positive, got ", features, " and ",
          width);
  const auto rows = static_cast<std::size_t>(features), D = static_cast<std::size_t>(width);
  std::vector<double> w(rows * D);
  for (std::size_t r = 0; r < rows; ++r) {
    double* row = &w[r * D];
    double length = 0;  // length of an independent normal vector
    for (std::size_t c = 0; c < D; ++c) {
      const auto index = static_cast<std::int64_t>(r * D + c);
      row[c] = stream.normal(index);
      length += math64::pow(stream.normal(features * width + index), 2);
    }
    for (int pass = 0; pass < 2; ++pass)  // twice, to remove rounding errors
      for (std::size_t other = r / D * D; other < r; ++other) {
        double along = 0, squares = 0;
        for (std::size_t c = 0; c < D; ++c) {
          along += row[c] * w[other * D + c];
          squares += w[other * D + c] * w[other * D + c];
        }
        for (std::size_t c = 0; c < D; ++c) row[c] -= along / squares * w[other * D + c];
      }
    double squares = 0;
    for (std::size_t c = 0; c < D; ++c) squares += row[c] * row[c];
    for (std::size_t c = 0; c < D; ++c) row[c] *= std::sqrt(length / squares);
  }
  return kernel::convert(tensor(w, {features, width}), dtype);
}

}  // namespace gradus
