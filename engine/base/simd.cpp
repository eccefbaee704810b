#include "gradus/engine/base/simd.h"

#include <array>

#include "gradus/engine/base/environment.h"
#include "gradus/engine/base/error.h"

namespace gradus::simd {
namespace {

constexpr std::array<std::string_view, 3> kNames{"baseline", "avx2", "avx512"};

Level asked_for() {
  const std::string_view value = environment::value_of(environment::Variable::simd);
  if (value.empty()) return widest();
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] != value) continue;
    const auto asked = static_cast<Level>(i);
    require(asked <= widest(), "GRADUS_SIMD=", value, ": the widest level here is ", name(widest()),
            ". Set GRADUS_SIMD=", name(widest()), " or unset it.");
    return asked;
  }
  fail<ValueError>("GRADUS_SIMD=", value, ": unknown level. Set avx512, avx2 or baseline.");
}

}  // namespace

Level widest() {
#if GRADUS_HAS_LEVELS
  const auto has = [](auto... answers) { return (answers && ...); };
  if (!has(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"),
           __builtin_cpu_supports("bmi"), __builtin_cpu_supports("bmi2")))
    return Level::baseline;
  if (!has(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512bw"),
           __builtin_cpu_supports("avx512cd"), __builtin_cpu_supports("avx512dq"),
           __builtin_cpu_supports("avx512vl")))
    return Level::avx2;
  return Level::avx512;
#else
  return Level::baseline;
#endif
}

std::string_view name(Level level) { return kNames[static_cast<std::size_t>(level)]; }

Level detail::choose() {
  chosen = static_cast<int>(asked_for());
  return static_cast<Level>(chosen.load());
}

}  // namespace gradus::simd
