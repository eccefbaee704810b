#pragma once

namespace gradus::bench {

/// Measures the peak throughput of multiply-adds on registers, in Gflop/s of all threads with the
/// vectors of simd::level(). Takes about 100 ms.
double measure_peak_gflops();

}  // namespace gradus::bench
