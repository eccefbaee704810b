// Attention in time and memory linear in the length: no query meets a key by itself. With features
// φ in the softmax's place, the sums over keys are taken once, for all queries:
//
//   y_i = φ(q_i)ᵀ Σ_j φ(k_j) v_jᵀ / φ(q_i)ᵀ Σ_j φ(k_j)
//
// A causal one keeps the sums up to every 64th key, and takes pairs apart only between those.
#pragma once

#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/engine/tensor.h"

namespace gradus {

enum class FeatureMap { elu_plus_one, relu };

struct LinearAttentionOptions {
  FeatureMap feature = FeatureMap::elu_plus_one;
  bool causal = false;                     // query i sees keys 0 … i; then T = S
  std::vector<std::int64_t> lengths = {};  // of each example's keys; what follows is padding
  double eps = 1e-6;                       // added to the divisor
};

/// Katharopoulos et al. 2020: q [B, H, T, D], k [B, H, S, D], v [B, H, S, Dv] → [B, H, T, Dv].
/// A query without keys (and one whose features are 0 with all keys') gives 0. Padding takes no
/// part, NaN included.
Tensor linear_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                        const LinearAttentionOptions& options = {});

struct PerformerOptions {
  bool causal = false;
  std::vector<std::int64_t> lengths = {};
};

/// Choromanski et al. 2021 (FAVOR+): an unbiased estimate of numerator and divisor of softmax
/// attention with scale 1/√D, by the features of favor_features() with `projection` [M, D]. Its
/// error falls as 1/√M; it grows with the norms of q and k.
///
/// Exponents are kept in range by a shift a query, and one for all keys of a head. Both stand above
/// and below the line and cancel exactly, so they count as constants in the derivative. A causal
/// one is shifted by what the projection alone says: keys to come do not touch earlier results.
Tensor performer_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                           const Tensor& projection, const PerformerOptions& options = {});

/// φ(x)_m = exp(w_m · x − |x|² / 2 − shift) / √M > 0; E φ(x) · φ(y) = exp(x · y − shifts)
/// for rows w_m of `projection` [M, D] of independent normal numbers: x [..., D] → [..., M].
/// `shift` broadcasts to the result, undefined it is 0; it is part of the function like any input.
Tensor favor_features(const Tensor& x, const Tensor& projection, const Tensor& shift = {});

/// [features, width]: rows drawn normal, then in blocks of `width` made orthogonal, with lengths of
/// independent normal vectors (Choromanski et al. 2021, §2.4: a smaller variance).
Tensor orthogonal_projection(std::int64_t features, std::int64_t width, const RandomStream& stream,
                             Dtype dtype = default_dtype());

/// x [B, H, S, D] with 0 from place lengths[b] on; x itself where there are no lengths.
Tensor mask_padding(const Tensor& x, const std::vector<std::int64_t>& lengths);

}  // namespace gradus
