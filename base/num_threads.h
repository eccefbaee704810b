// How many threads kernels and products may use.
#pragma once

namespace gradus {

inline constexpr int kMaxThreads = 1024;

/// At least 1. The default is GRADUS_NUM_THREADS, else OMP_NUM_THREADS, else the physical cores
/// within this process's affinity and cgroup quota.
int num_threads();
void set_num_threads(int n);  // ValueError unless 1 ≤ n ≤ kMaxThreads

}  // namespace gradus
