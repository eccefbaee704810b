// All multithreading in Gradus goes through parallel_for, which uses OpenMP.
#pragma once

#include <cstdint>

#include "gradus/engine/base/function_ref.h"
#include "gradus/engine/base/num_threads.h"

namespace gradus {

/// Runs body(begin, end) on the thread pool over [0, n) in chunks of `grain`. Chunks depend only on
/// n and grain, so partial results do not depend on the number of threads. Runs serially if n ≤
/// grain, with one thread, or inside another parallel_for. Rethrows the first exception. The body
/// runs with the caller's thread_state, but without observers.
void parallel_for(std::int64_t n, std::int64_t grain,
                  FunctionRef<void(std::int64_t begin, std::int64_t end)> body);

/// Number of cheap elements below which a second thread does not pay off.
inline constexpr std::int64_t kCheapGrain = 16384;

/// Returns the rows per chunk for about kCheapGrain elements. At least 1.
constexpr std::int64_t rows_grain(std::int64_t row_elements) {
  return row_elements >= kCheapGrain ? 1 : kCheapGrain / (row_elements < 1 ? 1 : row_elements);
}

}  // namespace gradus
