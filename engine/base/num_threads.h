// The number of threads for kernels and matmuls.
#pragma once

namespace gradus {

inline constexpr int kMaxThreads = 1024;

/// Returns the number set by set_num_threads, or the default (computed once). At least 1.
int num_threads();
void set_num_threads(int n);  // throws ValueError unless 1 ≤ n ≤ kMaxThreads

/// Returns GRADUS_NUM_THREADS, else OMP_NUM_THREADS, else the number of physical cores within the
/// process's affinity mask and cgroup quota.
int default_num_threads();

}  // namespace gradus
