// A transport between threads of one process: everything that several processes do, without MPI.
#pragma once

#include <functional>

#include "gradus/train/distributed/transport.h"

namespace gradus::distributed {

/// A simulated network: the time that each exchange takes at least.
struct Network {
  double latency_seconds = 0;
  double bytes_per_second = 0;  // that a process sends or receives; 0: no limit
};

/// Calls work(transport) on `size` threads, each with a copy of the caller's generator(). If one
/// throws, or returns while others wait for it, all others end at their next exchange. The first
/// exception is thrown again here, as an Error that begins with that process's describe().
void run_threads(int size, const std::function<void(Transport&)>& work, Network network = {});

}  // namespace gradus::distributed
