// Inputs on a manifold. A point moves by a tangent vector δ and stays on the manifold:
//
//   y = plus(x, δ)      δ = minus(y, x)      plus(x, 0) = x
//
// The derivative with respect to such an input is the derivative of f(plus(x, δ)) with respect to δ
// at 0. With B = ∂plus/∂δ, an ambient gradient g corresponds to Bᵀg.
#pragma once

#include "gradus/check/raw/findings.h"
#include "gradus/check/raw/options.h"

namespace gradus::check {

/// Form of the gradients that a check accepts.
enum class GradientSpace {
  tangent,   // vectors with the size of δ
  embedded,  // also ambient vectors tangent to the manifold
  ambient    // any ambient vectors; only the tangent part counts
};

/// A manifold whose points have `numbers` values.
struct Manifold {
  std::string name;
  std::function<std::size_t(std::size_t numbers)> dimension;  // dimension of δ
  std::function<Values(const Values& x, const Values& delta)> plus;
  std::function<Values(const Values& y, const Values& x)> minus = {};  // default: B⁺(y − x)
  std::function<double(const Values& x)> residual = {};  // 0 on the manifold; BadInput if > 1e-6
  GradientSpace gradient = GradientSpace::tangent;
};

/// Unit quaternions (w, x, y, z): plus(q, δ) = q ⊗ (cos |δ|/2, sin(|δ|/2) δ/|δ|), with δ in radians
/// about the axes of the rotated frame.
GRADUS_CHECK_INLINE Manifold quaternion();
/// Rotation matrices [3, 3]: plus(R, δ) = R exp(δ×), by Rodrigues' formula.
GRADUS_CHECK_INLINE Manifold so3();
/// Rigid motions [R t; 0 0 0 1], [3, 4] or [4, 4]: plus(T, δ) = T exp(δ), δ = (translation,
/// rotation).
GRADUS_CHECK_INLINE Manifold se3();
/// A Stiefel manifold: `count` orthonormal columns, [rows, count]. δ contains the upper triangle of
/// a skew-symmetric A for the step X A, then the part orthogonal to the columns. plus
/// orthonormalizes the sum.
GRADUS_CHECK_INLINE Manifold frame(std::size_t rows, std::size_t count);
/// Unit vectors: a frame with one column.
GRADUS_CHECK_INLINE Manifold sphere();
/// Symmetric matrices [n, n]: δ is their lower triangle.
GRADUS_CHECK_INLINE Manifold symmetric();
/// Positive values: plus(x, δ) = x exp(δ).
GRADUS_CHECK_INLINE Manifold positive();

/// Manifolds of the inputs and the output; empty means a vector space.
struct Domains {
  std::vector<std::optional<Manifold>> inputs;
  std::optional<Manifold> output = {};

  bool any() const {
    return output || std::any_of(inputs.begin(), inputs.end(), [](const auto& m) { return m; });
  }
};

/// Runs check_vjp() on manifolds. If the inputs are a special point, also checks a sample nearby.
GRADUS_CHECK_INLINE Report check_on(const std::string& name, const Functions& f,
                                    const std::vector<Input>& inputs, const Domains& places,
                                    RawOptions options);

}  // namespace gradus::check
