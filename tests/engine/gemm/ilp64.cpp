// Preloaded by a test: the function of a BLAS library with 64-bit integers (ILP64).
#include <cstdint>

extern "C" double cblas_ddot(std::int64_t n, const double* x, std::int64_t x_step, const double* y,
                             std::int64_t y_step) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i * x_step] * y[i * y_step];
  return sum;
}
