// The one place where Gradus uses more than one thread. OpenMP is behind it, and only there.
#pragma once

#include <cstdint>

#include "gradus/engine/base/function_ref.h"
#include "gradus/engine/base/num_threads.h"

namespace gradus {

/// body(begin, end) over [0, n) in chunks of `grain` (the last may be shorter), on the thread pool.
/// Chunks depend on n and grain alone, so a chunk's partial result is the same with any number of
/// threads. Each thread starts with an equal share, then takes chunks from the others': a core that
/// another process uses delays the chunk it is in, not the loop. Runs serially where n ≤ grain,
/// with one thread, and inside another parallel_for. The first exception is thrown again here.
/// The body runs with the caller's thread_state, except that observers are not called.
void parallel_for(std::int64_t n, std::int64_t grain,
                  FunctionRef<void(std::int64_t begin, std::int64_t end)> body);

/// Elements of cheap work below which a second thread costs more than it gives.
inline constexpr std::int64_t kCheapGrain = 16384;

/// Rows a chunk should hold so that it has about kCheapGrain elements of work; at least 1.
constexpr std::int64_t rows_grain(std::int64_t row_elements) {
  return row_elements >= kCheapGrain ? 1 : kCheapGrain / (row_elements < 1 ? 1 : row_elements);
}

}  // namespace gradus
