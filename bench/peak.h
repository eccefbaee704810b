// Peak arithmetic throughput: multiply-adds on registers.
#pragma once

namespace gradus::bench {

/// Gflop/s of all threads, with the vectors of simd::level(). Takes about 100 ms.
double measure_peak_gflops();

}  // namespace gradus::bench
