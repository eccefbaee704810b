// Processes that are threads of this one: all that several processes do, without MPI.
#pragma once

#include <functional>

#include "gradus/train/distributed/transport.h"

namespace gradus::distributed {

/// A network to be imagined: what each exchange takes at least.
struct Network {
  double latency_seconds = 0;
  double bytes_per_second = 0;  // that a process sends or receives; 0: no limit
};

/// Calls work(transport) on `size` threads, each with a generator() like the caller's. An exception
/// of one ends all others at their next exchange; so does one that returns while others wait. The
/// first is thrown again here: an Error that begins with that process's describe().
void run_threads(int size, const std::function<void(Transport&)>& work, Network network = {});

}  // namespace gradus::distributed
