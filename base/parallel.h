// The one place where Gradus uses more than one thread. OpenMP is behind it, and only there.
#pragma once

#include <cstdint>

#include "gradus/base/function_ref.h"

namespace gradus {

/// How many threads kernels and products may use: at least 1. The default is GRADUS_NUM_THREADS,
/// else OMP_NUM_THREADS, else the physical cores within this process's affinity and cgroup quota.
int num_threads();
void set_num_threads(int n);  // ValueError unless 1 ≤ n ≤ 1024

/// body(begin, end) over [0, n) in chunks of `grain` (the last may be shorter), on the team.
/// Chunks depend on n and grain alone, so a chunk's partial result is the same with any number of
/// threads. Threads take the next chunk when they are free: a core that somebody else uses delays
/// the chunk it is in, not the loop. Runs serially where n ≤ grain, with one thread, and inside
/// another parallel_for. The first exception is thrown again here. Workers inherit thread_state.
void parallel_for(std::int64_t n, std::int64_t grain,
                  FunctionRef<void(std::int64_t begin, std::int64_t end)> body);

/// Elements of cheap work below which a second thread costs more than it gives.
inline constexpr std::int64_t kCheapGrain = 16384;

/// Rows a chunk should hold so that it has about kCheapGrain elements of work; at least 1.
constexpr std::int64_t rows_grain(std::int64_t row_elements) {
  return row_elements >= kCheapGrain ? 1 : kCheapGrain / (row_elements < 1 ? 1 : row_elements);
}

}  // namespace gradus
