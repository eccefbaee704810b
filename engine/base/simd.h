// One loop, compiled for several instruction sets; the processor says at run time which one runs.
//
//   template <class T> GRADUS_INLINE void add_rows(T* y, const T* x, std::int64_t n) { … a loop … }
//   simd::run<add_rows<T>>(y, x, n);
//
// `run` holds add_rows three times, each inside a function with the vectors of one level, and calls
// the widest that the processor and GRADUS_SIMD allow. Plain C++ on purpose: a `target_clones`
// attribute chooses before main() and cannot be told otherwise, so no test could reach the narrower
// versions on a wide machine, and clang has none for templates.
//
// Without GRADUS_KERNEL_CLONES (sanitizers, the `step` preset) run calls the function itself.
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
// x86-64-v3 and x86-64-v4, spelled out: of "arch=x86-64-v4" clang makes vectors of 32 bytes.
#define GRADUS_TARGET_AVX2 __attribute__((target("avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,popcnt")))
#define GRADUS_TARGET_AVX512                                                            \
  __attribute__((                                                                       \
      target("avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,popcnt,avx512f,avx512bw,avx512cd," \
             "avx512dq,avx512vl")))
#define GRADUS_HAS_LEVELS 1
#else
#define GRADUS_HAS_LEVELS 0
#endif

// Two names, as a program may hold both kinds of `run`: its own, and that of the library.
#if GRADUS_HAS_LEVELS && defined(GRADUS_KERNEL_CLONES) && GRADUS_KERNEL_CLONES
#define GRADUS_DISPATCHES 1
#define GRADUS_RUN_NAMESPACE dispatched
#else
#define GRADUS_DISPATCHES 0
#define GRADUS_RUN_NAMESPACE direct
#endif

namespace gradus::simd {

/// The vectors that kernels use: 16 bytes (SSE2, NEON), 32 with fused multiply-add, or 64.
enum class Level { baseline, avx2, avx512 };

/// The widest that the processor has, or less where GRADUS_SIMD=avx512|avx2|baseline asks for less.
/// Asked once: a ValueError where GRADUS_SIMD is something else, or more than the processor has.
Level level();
Level widest();  // what the processor has, whatever GRADUS_SIMD says

std::string_view name(Level level);  // "avx512"

namespace detail {

template <class A>
inline constexpr bool is_wide =
    std::is_same_v<A, double*> || std::is_same_v<A, const double*> ||
    std::is_same_v<A, std::int64_t*> || std::is_same_v<A, const std::int64_t*>;

inline std::atomic<int> chosen{-1};  // −1: not asked for yet
Level choose();

#if GRADUS_DISPATCHES
// flatten: whatever a kernel calls is compiled with it, also lambdas that are too large to be
// inlined three times of the compiler's own accord.
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

/// One of three kernels, each compiled for the level that it is named after, by level().
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

/// kernel(arguments…), compiled for level(). The kernel is GRADUS_INLINE, as is what it calls. One
/// that takes pointers to double or int64_t has a single version: nobody waits for those, and each
/// version takes seconds to compile.
template <auto kernel, class... Arguments>
auto run(Arguments... arguments) {
  if constexpr ((detail::is_wide<Arguments> || ...))
    return kernel(arguments...);
  else
    return run_one<kernel, kernel, kernel>(arguments...);
}

}  // namespace GRADUS_RUN_NAMESPACE
}  // namespace gradus::simd
