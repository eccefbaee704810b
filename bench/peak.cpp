#include "peak.h"

#include <algorithm>
#include <atomic>

#include "floor.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/simd.h"

namespace gradus::bench {
namespace {

// A multiply-add takes 4 cycles, and two start per cycle, so at least 8 independent sums are
// necessary.
constexpr int kSums = 12;
constexpr long kSteps = 1'000'000;  // long enough for all threads to start

template <int bytes>
using Floats __attribute__((vector_size(bytes))) = float;

template <int bytes>
GRADUS_ALWAYS_INLINE float multiply_add(float factor) {
  using Vector = Floats<bytes>;
  Vector sums[kSums], a = Vector{} + factor, b = Vector{} + 1e-3F;
  for (int i = 0; i < kSums; ++i) sums[i] = Vector{} + factor * float(i);  // distinct values
  for (long step = 0; step < kSteps; ++step)
#pragma GCC unroll 12
    for (int i = 0; i < kSums; ++i) sums[i] = sums[i] * a + b;
  Vector all{};
  for (const Vector& sum : sums) all += sum;
  return all[0];
}

float baseline(float factor) { return multiply_add<16>(factor); }
#if GRADUS_HAS_LEVELS
GRADUS_TARGET_AVX2 float avx2(float factor) { return multiply_add<32>(factor); }
GRADUS_TARGET_AVX512 float avx512(float factor) { return multiply_add<64>(factor); }
#endif

struct Work {
  float (*run)(float);
  int lanes;
};

Work work() {
#if GRADUS_HAS_LEVELS
  if (simd::level() == simd::Level::avx512) return {avx512, 16};
  if (simd::level() == simd::Level::avx2) return {avx2, 8};
#endif
  return {baseline, 4};
}

}  // namespace

double measure_peak_gflops() {
  const Work job = work();
  const int threads = num_threads();
  double best = 0;
  for (int round = 0; round < 20; ++round) {
    std::atomic<float> sink{0};  // prevents removal of the sum
    const double start = now_ms();
    parallel_for(threads, 1, [&](std::int64_t, std::int64_t) { sink = job.run(0.5F); });
    const double flop = 2.0 * job.lanes * kSums * double(kSteps) * threads;
    best = std::max(best, flop / (now_ms() - start) / 1e6);
  }
  return best;
}

}  // namespace gradus::bench
