// Portable bits: every sample gives the same values and gradients with every instruction set and
// number of threads.
#include "gradus/engine/base/bits.h"

#include <cstring>
#include <map>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/num_threads.h"
#include "gradus/engine/base/random.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/bits_scope.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/registry_run.h"
#include "gradus/tests/support/simd_levels.h"

namespace gradus::testing::test_bits {
namespace {

struct Threads {
  int before = num_threads();
  explicit Threads(int n) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
};

Inputs with_dtype(const Inputs& inputs, Dtype dtype) {
  Inputs out;
  for (const Tensor& x : inputs) out.push_back(is_float(x.dtype()) ? x.to(dtype) : x);
  return out;
}

/// Returns all values, then all gradients, as numbers that show each bit except those of NaN.
Numbers values_and_gradients(const Sample& sample, Dtype dtype) {
  Generator own(3);
  const GeneratorScope draws(own);
  const Result result = run(sample, with_dtype(sample.inputs, dtype), wanted_inputs(sample));
  Numbers all = numbers(result.y);
  for (const Numbers& dx : result.dx) all.insert(all.end(), dx.begin(), dx.end());
  return all;
}

bool same_bits(const Numbers& a, const Numbers& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return (std::isnan(x) && std::isnan(y)) || std::memcmp(&x, &y, sizeof x) == 0;
  });
}

/// Counts the samples of one dtype. Some mix inputs with f64 constants and throw DtypeError in f32.
int check_all(Dtype dtype) {
  int checked = 0;
  for (const Sample& sample : all_samples()) {
    INFO(sample.op << ": " << sample.what << (dtype == Dtype::f32 ? ", f32" : ", f64"));
    Numbers first;
    try {
      const Threads one(1);
      first = values_and_gradients(sample, dtype);
    } catch (const DtypeError&) {
      continue;
    }
    ++checked;
    for (const simd::Level level : simd_levels())
      for (const int threads : {1, 2}) {
        const LevelScope scope(level);
        const Threads some(threads);
        CAPTURE(simd::name(level), threads);
        CHECK(same_bits(values_and_gradients(sample, dtype), first));
      }
  }
  return checked;
}

}  // namespace

TEST_CASE("portable bits: every sample is the same at every width, with one or two threads",
          "[slow]") {
  const BitsScope portable(Bits::portable);
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const int checked = check_all(dtype);
    CHECK(checked > 500);  // most of the registry
  }
}

}  // namespace gradus::testing::test_bits
