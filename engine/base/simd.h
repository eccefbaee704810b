// Compiles one loop for multiple instruction sets and selects one at run time.
//
//   template <class T> GRADUS_INLINE void add_rows(T* y, const T* x, std::int64_t n) { … a loop … }
//   simd::run<add_rows<T>>(y, x, n);
//
// `run` contains add_rows compiled for three levels and calls the widest that the processor and
// GRADUS_SIMD allow. Unlike `target_clones`, it supports templates in clang and lets tests run
// narrower versions.
//
// Without GRADUS_KERNEL_CLONES (sanitizers, the `step` preset), run calls the function directly.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <type_traits>

#define GRADUS_ALWAYS_INLINE inline __attribute__((always_inline))
#if defined(GRADUS_KERNEL_CLONES) && GRADUS_KERNEL_CLONES
#define GRADUS_INLINE GRADUS_ALWAYS_INLINE
#else
#define GRADUS_INLINE inline
#endif

#if defined(__x86_64__)
// x86-64-v3 and x86-64-v4 as lists of features, because with "arch=x86-64-v4" clang uses only
// 32-byte vectors.
#define GRADUS_TARGET_AVX2 __attribute__((target("avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,popcnt")))
#define GRADUS_TARGET_AVX512                                                            \
  __attribute__((                                                                       \
      target("avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,popcnt,avx512f,avx512bw,avx512cd," \
             "avx512dq,avx512vl")))
#define GRADUS_HAS_LEVELS 1
#else
#define GRADUS_HAS_LEVELS 0
#endif

// Two namespaces, because a program and the library may contain different versions of `run`.
#if GRADUS_HAS_LEVELS && defined(GRADUS_KERNEL_CLONES) && GRADUS_KERNEL_CLONES
#define GRADUS_DISPATCHES 1
#define GRADUS_RUN_NAMESPACE dispatched
#else
#define GRADUS_DISPATCHES 0
#define GRADUS_RUN_NAMESPACE direct
#endif

namespace gradus::simd {

/// Vector width: 16 bytes (SSE2, NEON), 32 bytes with fused multiply-add, or 64 bytes.
enum class Level { baseline, avx2, avx512 };

/// Returns the processor's widest level, or the one that GRADUS_SIMD=avx512|avx2|baseline selects.
/// Computed once. Throws ValueError if GRADUS_SIMD is invalid or unsupported.
Level level();
Level widest();  // the processor's widest level, regardless of GRADUS_SIMD

std::string_view name(Level level);  // for example "avx512"

namespace detail {

template <class A>
inline constexpr bool is_wide =
    std::is_same_v<A, double*> || std::is_same_v<A, const double*> ||
    std::is_same_v<A, std::int64_t*> || std::is_same_v<A, const std::int64_t*>;

inline std::atomic<int> chosen{-1};  // −1: not chosen yet
Level choose();

#if GRADUS_DISPATCHES
// `flatten` also inlines lambdas that the compiler considers too large to inline.
template <auto kernel, class... Arguments>
GRADUS_TARGET_AVX512 __attribute__((flatten)) auto run_avx512(Arguments... arguments) {
  return kernel(arguments...);
}
template <auto kernel, class... Arguments>
GRADUS_TARGET_AVX2 __attribute__((flatten)) auto run_avx2(Arguments... arguments) {
  return kernel(arguments...);
}
template <auto kernel, class... Arguments>
__attribute__((flatten)) auto run_baseline(Arguments... arguments) {
  return kernel(arguments...);
}
#endif

}  // namespace detail

inline Level level() {
  const int known = detail::chosen.load(std::memory_order_relaxed);
  return known >= 0 ? static_cast<Level>(known) : detail::choose();
}

inline namespace GRADUS_RUN_NAMESPACE {

template <auto avx512, auto avx2, auto baseline, class... Arguments>
auto run_one(Arguments... arguments) {
#if GRADUS_DISPATCHES
  switch (level()) {
    case Level::avx512:
      return detail::run_avx512<avx512>(arguments...);
    case Level::avx2:
      return detail::run_avx2<avx2>(arguments...);
    case Level::baseline:
      break;
  }
  return detail::run_baseline<baseline>(arguments...);
#else
  return baseline(arguments...);
#endif
}

/// Runs kernel(arguments…) for level(). The kernel and its callees must be GRADUS_INLINE. Kernels
/// with pointers to double or int64_t are compiled only once, to save compile time.
template <auto kernel, class... Arguments>
auto run(Arguments... arguments) {
  if constexpr ((detail::is_wide<Arguments> || ...))
    return kernel(arguments...);
  else
    return run_one<kernel, kernel, kernel>(arguments...);
}

}  // namespace GRADUS_RUN_NAMESPACE
}  // namespace gradus::simd
