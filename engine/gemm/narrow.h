// Storage formats narrower than f32. Arithmetic is always f32.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "gradus/engine/base/bit_cast.h"
#include "gradus/engine/gemm/instruction_set.h"

namespace gradus::gemm {

/// The upper half of an f32: 8 exponent bits, 7 fraction bits. The relative rounding error is at
/// most 2⁻⁸.
struct BFloat16 {
  std::uint16_t bits;
};
/// IEEE 754 binary16: 5 exponent bits, 10 fraction bits. The rounding error is at most 2⁻¹¹
/// relative or 2⁻²⁵ absolute. Maximum: 65504.
struct Float16 {
  std::uint16_t bits;
};

inline float widen(float x) { return x; }
inline double widen(double x) { return x; }
inline float widen(std::int8_t x) { return static_cast<float>(x); }
inline float widen(BFloat16 x) { return bit_cast<float>(std::uint32_t{x.bits} << 16); }
inline float widen(Float16 x) {
  const std::uint32_t exponent = x.bits >> 10 & 31u, fraction = x.bits & 0x3FFu;
  const std::uint32_t wider = exponent == 31 ? 255u : exponent + (127 - 15);
  const float magnitude = exponent == 0
                              ? static_cast<float>(fraction) * 0x1p-24f  // subnormal or zero
                              : bit_cast<float>(wider << 23 | fraction << 13);
  return x.bits & 0x8000u ? -magnitude : magnitude;
}

/// Rounds to nearest, ties to even. Overflow yields ∞; NaN stays NaN.
inline BFloat16 to_bfloat16(float x) {
  const auto bits = bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return {static_cast<std::uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16)};
}
inline Float16 to_float16(float x) {
  const auto bits = bit_cast<std::uint32_t>(x) & 0x7FFFFFFFu;
  const auto sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000u : 0u);
  const auto with_sign = [sign](std::uint32_t magnitude) {
    return Float16{static_cast<std::uint16_t>(sign | magnitude)};
  };
  const auto magnitude = bit_cast<float>(bits);
  if (std::isnan(x)) return with_sign(0x7E00u);
  // 65520 is halfway between the maximum and the next value.
  if (magnitude >= 65520.0f) return with_sign(0x7C00u);
  if (magnitude < 0x1p-14f)  // subnormal: a multiple of 2⁻²⁴
    return with_sign(static_cast<std::uint32_t>(std::nearbyint(magnitude * 0x1p24f)));
  return with_sign(((bits + 0xFFFu + (bits >> 13 & 1u)) >> 13) - ((127u - 15u) << 10));
}

/// Number of int8 values that share a scale. Smaller groups are more precise but store more scales.
inline constexpr std::int64_t kScaled = 192;

template <class V, class S>
GRADUS_ALWAYS_INLINE void read_vector(V& to, const S* from) {
  if constexpr (std::is_same_v<S, float> || std::is_same_v<S, double>) {
    std::memcpy(&to, from, sizeof to);
  } else {
    to = V{};
    for (std::size_t i = 0; i < sizeof(V) / sizeof(float); ++i) to[i] = widen(from[i]);
  }
}

#if GRADUS_HAS_LEVELS
// Conversions of one or two instructions, which GCC 12 does not generate. Not GRADUS_INLINE,
// because GRADUS_INLINE functions are first compiled for the baseline, which lacks these
// instructions.
inline constexpr __mmask16 kAllLanes = 0xFFFF;  // avoids a GCC 12 warning

GRADUS_TARGET_AVX512 inline void read_vector(Floats64& to, const BFloat16* from) {
  const __m512i bits =
      _mm512_maskz_cvtepu16_epi32(kAllLanes, _mm256_loadu_si256((const __m256i*)from));
  to = (Floats64)_mm512_maskz_slli_epi32(kAllLanes, bits, 16);
}
GRADUS_TARGET_AVX512 inline void read_vector(Floats64& to, const Float16* from) {
  to = (Floats64)_mm512_maskz_cvtph_ps(kAllLanes, _mm256_loadu_si256((const __m256i*)from));
}
GRADUS_TARGET_AVX512 inline void read_vector(Floats64& to, const std::int8_t* from) {
  const __m512i whole =
      _mm512_maskz_cvtepi8_epi32(kAllLanes, _mm_loadu_si128((const __m128i*)from));
  to = (Floats64)_mm512_maskz_cvtepi32_ps(kAllLanes, whole);
}
GRADUS_TARGET_AVX2 inline void read_vector(Floats32& to, const BFloat16* from) {
  const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)from));
  to = (Floats32)_mm256_slli_epi32(bits, 16);
}
GRADUS_TARGET_AVX2 inline void read_vector(Floats32& to, const Float16* from) {
  to = (Floats32)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)from));
}
GRADUS_TARGET_AVX2 inline void read_vector(Floats32& to, const std::int8_t* from) {
  const __m256i whole = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)from));
  to = (Floats32)_mm256_cvtepi32_ps(whole);
}
#endif

}  // namespace gradus::gemm
