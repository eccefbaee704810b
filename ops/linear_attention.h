// Attention in linear time and memory. With features φ instead of the softmax, all queries share
// the sums over keys:
//
//   y_i = φ(q_i)ᵀ Σ_j φ(k_j) v_jᵀ / φ(q_i)ᵀ Σ_j φ(k_j)
//
// Causal attention stores the sums at every 64th key and computes pairs only within such chunks.
#pragma once

#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/engine/tensor.h"

namespace gradus {

/// φ, applied to each element: elu(x) + 1 or relu(x).
enum class FeatureMap { elu_plus_one, relu };

/// Options of linear_attention().
struct LinearAttentionOptions {
  FeatureMap feature = FeatureMap::elu_plus_one;
  bool causal = false;                     // true: query i uses keys 0 … i; requires T = S
  std::vector<std::int64_t> lengths = {};  // number of keys in each example; the rest is padding
  double eps = 1e-6;                       // added to the denominator
};

/// Linear attention (Katharopoulos et al. 2020): q [B, H, T, D], k [B, H, S, D], v [B, H, S, Dv] →
/// [B, H, T, Dv]. The output is 0 for a query with no keys or a denominator of 0. Ignores padding,
/// even if NaN.
Tensor linear_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                        const LinearAttentionOptions& options = {});

/// Options of performer_attention(), as in LinearAttentionOptions.
struct PerformerOptions {
  bool causal = false;
  std::vector<std::int64_t> lengths = {};  // as in LinearAttentionOptions
};

/// FAVOR+ attention (Choromanski et al. 2021): unbiased estimates of the numerator and denominator
/// of softmax attention with scale 1/√D, computed with favor_features() and `projection` [M, D].
/// The error decreases as 1/√M and grows with the norms of q and k.
///
/// Exponents are shifted by one value per query and one for all keys of a head. The shifts cancel,
/// so the derivative treats them as constants. If causal, the key shift depends only on the
/// projection.
Tensor performer_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                           const Tensor& projection, const PerformerOptions& options = {});

/// φ(x)_m = exp(w_m · x − |x|² / 2 − shift) / √M > 0, for x [..., D] → [..., M]. If the rows w_m of
/// `projection` [M, D] are independent normal vectors, E φ(x) · φ(y) = exp(x · y − shifts). `shift`
/// broadcasts to the result, is differentiable, and defaults to 0.
Tensor favor_features(const Tensor& x, const Tensor& projection, const Tensor& shift = {});

/// Returns a matrix of shape [features, width] of Gaussian row vectors, orthogonalized in blocks of
/// `width` rows and rescaled to the lengths of independent Gaussian vectors. This lowers the
/// variance of the estimate (Choromanski et al. 2021, §2.4).
Tensor orthogonal_projection(std::int64_t features, std::int64_t width, const RandomStream& stream,
                             Dtype dtype = default_dtype());

/// Zeroes x [B, H, S, D] from position lengths[b] onward. Returns x if `lengths` is empty.
Tensor mask_padding(const Tensor& x, const std::vector<std::int64_t>& lengths);

}  // namespace gradus
