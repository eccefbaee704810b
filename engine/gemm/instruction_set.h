// The instruction sets of the built-in matmul, and the only place that fuses multiply and add.
//
// multiply_add(sum, a, b) computes sum + a * b in each lane and rounds once, so every set but
// Baseline on x86 gives the same bits. Everything else in Gradus is compiled with
// -ffp-contract=off: it rounds products and sums separately on every processor.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "gradus/engine/base/bit_cast.h"
#include "gradus/engine/base/bits.h"
#include "gradus/engine/base/simd.h"

#if GRADUS_HAS_LEVELS
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace gradus::gemm {

template <class T, std::size_t bytes>
struct VectorOf {
  using Type __attribute__((vector_size(bytes))) = T;
};

/// Rounds products and sums separately.
struct Unfused {
  template <class A, class Vector>
  GRADUS_ALWAYS_INLINE static void multiply_add(Vector& sum, const A& a, const Vector& b) {
    sum += a * b;
  }
};

// A set has the `bytes` of a vector register, and the `rows` of a tile of C (tile.h).
#if GRADUS_HAS_LEVELS
// Not GRADUS_ALWAYS_INLINE and by reference, because GCC compiles templates that call these
// functions for the baseline first, which lacks the instructions.
using Floats64 = VectorOf<float, 64>::Type;
using Floats32 = VectorOf<float, 32>::Type;
using Doubles64 = VectorOf<double, 64>::Type;
using Doubles32 = VectorOf<double, 32>::Type;

struct Avx512 {
  static constexpr int bytes = 64, rows = 14;

  GRADUS_TARGET_AVX512 static void multiply_add(Floats64& sum, const Floats64& a,
                                                const Floats64& b) {
    sum = (Floats64)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)sum);
  }
  GRADUS_TARGET_AVX512 static void multiply_add(Floats64& sum, float a, const Floats64& b) {
    sum = (Floats64)_mm512_fmadd_ps(_mm512_set1_ps(a), (__m512)b, (__m512)sum);
  }
  GRADUS_TARGET_AVX512 static void multiply_add(Doubles64& sum, const Doubles64& a,
                                                const Doubles64& b) {
    sum = (Doubles64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)sum);
  }
  GRADUS_TARGET_AVX512 static void multiply_add(Doubles64& sum, double a, const Doubles64& b) {
    sum = (Doubles64)_mm512_fmadd_pd(_mm512_set1_pd(a), (__m512d)b, (__m512d)sum);
  }
};

struct Avx2 {
  static constexpr int bytes = 32, rows = 6;

  GRADUS_TARGET_AVX2 static void multiply_add(Floats32& sum, const Floats32& a, const Floats32& b) {
    sum = (Floats32)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)sum);
  }
  GRADUS_TARGET_AVX2 static void multiply_add(Floats32& sum, float a, const Floats32& b) {
    sum = (Floats32)_mm256_fmadd_ps(_mm256_set1_ps(a), (__m256)b, (__m256)sum);
  }
  GRADUS_TARGET_AVX2 static void multiply_add(Doubles32& sum, const Doubles32& a,
                                              const Doubles32& b) {
    sum = (Doubles32)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)sum);
  }
  GRADUS_TARGET_AVX2 static void multiply_add(Doubles32& sum, double a, const Doubles32& b) {
    sum = (Doubles32)_mm256_fmadd_pd(_mm256_set1_pd(a), (__m256d)b, (__m256d)sum);
  }
};
#else
struct Avx512 : Unfused {
  static constexpr int bytes = 64, rows = 14;
};
struct Avx2 : Unfused {
  static constexpr int bytes = 32, rows = 6;
};
#endif

/// What every processor of an architecture has.
#ifdef __aarch64__
struct Baseline {
  static constexpr int bytes = 16, rows = 12;
  static constexpr bool fuses = true;
  using Floats = VectorOf<float, 16>::Type;
  using Doubles = VectorOf<double, 16>::Type;

  GRADUS_ALWAYS_INLINE static void multiply_add(Floats& sum, const Floats& a, const Floats& b) {
    sum = (Floats)vfmaq_f32((float32x4_t)sum, (float32x4_t)a, (float32x4_t)b);
  }
  GRADUS_ALWAYS_INLINE static void multiply_add(Floats& sum, float a, const Floats& b) {
    sum = (Floats)vfmaq_n_f32((float32x4_t)sum, (float32x4_t)b, a);
  }
  GRADUS_ALWAYS_INLINE static void multiply_add(Doubles& sum, const Doubles& a, const Doubles& b) {
    sum = (Doubles)vfmaq_f64((float64x2_t)sum, (float64x2_t)a, (float64x2_t)b);
  }
  GRADUS_ALWAYS_INLINE static void multiply_add(Doubles& sum, double a, const Doubles& b) {
    sum = (Doubles)vfmaq_n_f64((float64x2_t)sum, (float64x2_t)b, a);
  }
};
#else
struct Baseline : Unfused {
  static constexpr int bytes = 16, rows = 4;
  static constexpr bool fuses = false;
};
#endif

/// For portable bits on processors that cannot fuse: exact, and slow.
struct Emulated {
  static constexpr int bytes = 16, rows = 4;
  using Floats = VectorOf<float, bytes>::Type;
  using Doubles = VectorOf<double, bytes>::Type;

  /// a * b + c, rounded to odd: if it is not a double, its last bit is 1. Rounding it again, to
  /// float, then gives the same as rounding once (Boldo and Melquiond, "Emulation of FMA", 2008).
  /// a and b are floats, so their product is exact.
  GRADUS_ALWAYS_INLINE static Doubles fuse_to_odd(const Doubles& a, const Doubles& b,
                                                  const Doubles& c) {
    using Bits = VectorOf<std::int64_t, bytes>::Type;
    const Doubles product = a * b, sum = product + c, part = sum - product;
    const Doubles lost = (product - (sum - part)) + (c - part);  // Knuth: sum + lost is exact
    // Masks. If the sum is ±∞ or NaN, `lost` is NaN, and the sum stays.
    const Bits inexact = (Bits)(lost < 0) | (Bits)(lost > 0), even = ((Bits)sum & 1) - 1;
    // The exact value's odd neighbor is further from 0 if the loss has the sum's sign.
    const Bits further = ~((Bits)(lost > 0) ^ (Bits)(sum > 0));
    return (Doubles)((Bits)sum + (inexact & even & (-2 * further - 1)));
  }

  GRADUS_ALWAYS_INLINE static void multiply_add(Floats& sum, const Floats& a, const Floats& b) {
#pragma GCC unroll 2
    for (int i = 0; i < 4; i += 2) {
      const Doubles fused = fuse_to_odd(Doubles{a[i], a[i + 1]}, Doubles{b[i], b[i + 1]},
                                        Doubles{sum[i], sum[i + 1]});
      sum[i] = static_cast<float>(fused[0]);
      sum[i + 1] = static_cast<float>(fused[1]);
    }
  }
  GRADUS_ALWAYS_INLINE static void multiply_add(Floats& sum, float a, const Floats& b) {
    multiply_add(sum, Floats{a, a, a, a}, b);
  }
  static void multiply_add(Doubles& sum, const Doubles& a, const Doubles& b) {
    for (int i = 0; i < 2; ++i) sum[i] = std::fma(a[i], b[i], sum[i]);
  }
  static void multiply_add(Doubles& sum, double a, const Doubles& b) {
    multiply_add(sum, Doubles{a, a}, b);
  }
};

/// True if matmuls of this level must use Emulated.
inline bool emulates(simd::Level level) {
  return level == simd::Level::baseline && !Baseline::fuses && bits() == Bits::portable;
}

}  // namespace gradus::gemm
