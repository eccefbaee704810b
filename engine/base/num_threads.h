#pragma once

namespace gradus {

inline constexpr int kMaxThreads = 1024;  // set_num_threads accepts at most this many

/// Returns the configured number of threads, or the default (computed once). At least 1.
int num_threads();
void set_num_threads(int n);  // throws ValueError unless 1 ≤ n ≤ kMaxThreads

/// Returns GRADUS_NUM_THREADS, else OMP_NUM_THREADS, else the physical cores within the affinity
/// mask and cgroup quota.
int default_num_threads();

}  // namespace gradus
