// What the processor can do at most: multiply-adds on registers, nothing else.
#pragma once

namespace gradus::bench {

/// Gflop/s of all threads at once, with the vectors of simd::level(); measured now, in some 100 ms.
double measure_peak_gflops();

}  // namespace gradus::bench
