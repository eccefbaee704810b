// Inputs that live on a manifold. A point moves by a tangent vector δ and stays on the manifold:
//
//   y = plus(x, δ)      δ = minus(y, x)      plus(x, 0) = x
//
// The derivative by such an input is the one by δ at 0, and has as many numbers as δ: the check is
// of f(plus(x, δ)). With B = ∂plus/∂δ at 0, a gradient g of the surrounding space stands for Bᵀg.
#pragma once

#include "gradus/check/raw/findings.h"
#include "gradus/check/raw/options.h"

namespace gradus::check {

/// What a gradient by a point of a manifold may be.
enum class GradientSpace {
  tangent,   // one number for each of δ
  embedded,  // that, or a vector of the surrounding space that is tangent to the manifold
  ambient    // any vector of the surrounding space: what it says of tangent vectors counts
};

/// A manifold of points that are `numbers` long.
struct Manifold {
  std::string name;
  std::function<std::size_t(std::size_t numbers)> dimension;  // of δ
  std::function<Values(const Values& x, const Values& delta)> plus;
  std::function<Values(const Values& y, const Values& x)> minus = {};  // empty: B⁺(y − x)
  std::function<double(const Values& x)> residual = {};  // 0 on the manifold; above 1e-6: refused
  GradientSpace gradient = GradientSpace::tangent;
};

/// Rotations as unit quaternions (w, x, y, z): plus(q, δ) = q ⊗ (cos |δ|/2, sin(|δ|/2) δ/|δ|), so
/// that δ turns about axes of the rotated frame, in radians.
GRADUS_CHECK_INLINE Manifold quaternion();
/// Rotation matrices [3, 3]: plus(R, δ) = R exp(δ×), after Rodrigues.
GRADUS_CHECK_INLINE Manifold so3();
/// Rigid motions [R t; 0 0 0 1] of [3, 4] or [4, 4]: plus(T, δ) = T exp(δ), δ = (translation,
/// rotation).
GRADUS_CHECK_INLINE Manifold se3();
/// `count` orthonormal columns of [rows, count] (a Stiefel manifold). δ: the skew part X A, A above
/// its diagonal, then the part outside of the columns; plus is X + that, made orthonormal again.
GRADUS_CHECK_INLINE Manifold frame(std::size_t rows, std::size_t count);
/// Vectors of length 1: a frame of one column.
GRADUS_CHECK_INLINE Manifold sphere();
/// Symmetric matrices [n, n]: δ is their lower triangle.
GRADUS_CHECK_INLINE Manifold symmetric();
/// Numbers above 0: plus(x, δ) = x exp(δ).
GRADUS_CHECK_INLINE Manifold positive();

/// The manifolds that the inputs and the output live on; empty: a vector space.
struct Domains {
  std::vector<std::optional<Manifold>> inputs;
  std::optional<Manifold> output = {};

  bool any() const {
    return output || std::any_of(inputs.begin(), inputs.end(), [](const auto& m) { return m; });
  }
};

/// check_vjp() with inputs that move on manifolds; near special points it checks a sample too.
GRADUS_CHECK_INLINE Report check_on(const std::string& name, const Functions& f,
                                    const std::vector<Input>& inputs, const Domains& places,
                                    RawOptions options);

}  // namespace gradus::check
