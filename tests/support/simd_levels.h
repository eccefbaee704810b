#pragma once

#include <vector>

#include "gradus/engine/base/simd.h"

namespace gradus::testing {

/// Returns the supported levels, narrowest first.
inline std::vector<simd::Level> simd_levels() {
  std::vector<simd::Level> levels;
  for (const simd::Level level : {simd::Level::baseline, simd::Level::avx2, simd::Level::avx512})
    if (level <= simd::widest()) levels.push_back(level);
  return levels;
}

class LevelScope {
 public:
  explicit LevelScope(simd::Level level) : before_(static_cast<int>(simd::level())) {
    simd::detail::chosen = static_cast<int>(level);
  }
  ~LevelScope() { simd::detail::chosen = before_; }
  LevelScope(const LevelScope&) = delete;
  LevelScope& operator=(const LevelScope&) = delete;

 private:
  int before_;
};

}  // namespace gradus::testing
