// How many threads kernels and products may use.
#pragma once

namespace gradus {

inline constexpr int kMaxThreads = 1024;

/// At least 1: what was set, or the default, asked for once.
int num_threads();
void set_num_threads(int n);  // ValueError unless 1 ≤ n ≤ kMaxThreads

/// GRADUS_NUM_THREADS, else OMP_NUM_THREADS, else the physical cores within this process's affinity
/// and cgroup quota.
int default_num_threads();

}  // namespace gradus
