// Transport between threads of one process, without MPI.
#pragma once

#include <functional>

#include "gradus/train/distributed/transport.h"

namespace gradus::distributed {

/// Simulated network that determines the minimum duration of an exchange.
struct Network {
  double latency_seconds = 0;   // per exchange
  double bytes_per_second = 0;  // per process and direction; 0: unlimited
};

/// Calls work(transport) on `size` threads, each with a copy of generator(). If a thread throws, or
/// returns while others wait, the others stop at their next exchange. Rethrows the first exception
/// as an Error whose message begins with describe().
void run_threads(int size, const std::function<void(Transport&)>& work, Network network = {});

}  // namespace gradus::distributed
