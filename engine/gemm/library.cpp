#include "gradus/engine/gemm/library.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/platform.h"
#include "gradus/engine/gemm/plain.h"

#ifdef GRADUS_BLAS_LIBRARY
template <class T>
using Gemm = void(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);
template <class T>
using Gemv = void(int, int, int, int, T, const T*, int, const T*, int, T, T*, int);
extern "C" Gemm<float> cblas_sgemm;
extern "C" Gemm<double> cblas_dgemm;
extern "C" Gemv<float> cblas_sgemv;
extern "C" Gemv<double> cblas_dgemv;
// Its integers have 32 bits. The wrong type lets counts_in_64_bits() tell.
extern "C" double cblas_ddot(std::int64_t, const double*, std::int64_t, const double*,
                             std::int64_t);
#endif

namespace gradus::gemm {
namespace {

std::atomic<bool> setting_allowed{true};
std::atomic<bool> setting_done{false};

template <class Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(platform::find_symbol(name));
}

std::string ask_library(const char* name) {
  const auto answer = find<const char*()>(name);
  return answer != nullptr ? answer() : "";
}

#ifdef GRADUS_BLAS_LIBRARY
/// True if the library's integers have 64 bits (ILP64), where the functions have the same names. A
/// library of 32 bits reads the lower half of the size, 1. Other processors than these two extend
/// integers to whole registers, so the question has no answer there.
bool counts_in_64_bits() {
#if defined(__x86_64__) || defined(__aarch64__)
  constexpr std::int64_t size = 1 - (std::int64_t{1} << 62);
  const double one = 1;
  return cblas_ddot(size, &one, 1, &one, 1) == 0;  // no elements
#else
  return false;
#endif
}

// Throws if memory is short: OpenBLAS maps 128 MiB for each calling thread and retries forever if
// that fails.
void require_room() {
  if (linked_library() != Library::openblas) return;
  const std::size_t room = std::size_t{130} << 20,
                    wanted = room * static_cast<std::size_t>(num_threads());
  void* pages = platform::map_pages(wanted);
  require<MemoryError>(
      pages != nullptr, "matmul: OpenBLAS needs ", wanted >> 20,
      " MiB for its buffers, but the system has no more. Raise the limit (ulimit -v or the "
      "container's) or set GRADUS_BLAS=builtin.");
  platform::unmap_pages(pages, wanted);
}

// OpenBLAS's pthread build (kind 1) has its own spinning thread pool, which is set to one thread.
// Its OpenMP build (kind 2) uses one thread inside our OpenMP team, and its setter would affect all
// OpenMP code.
void prepare_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    require_room();
    require(!counts_in_64_bits(),
            "matmul: the BLAS library has 64-bit integers (ILP64), but Gradus needs 32 bits. Load "
            "its LP64 version, or set GRADUS_BLAS=builtin.");
    const auto kind = find<int()>("openblas_get_parallel");
    const auto set = find<void(int)>("openblas_set_num_threads");
    if (kind == nullptr || set == nullptr || kind() != 1 || !setting_allowed) return;
    set(1);
    setting_done = true;
  });
}

Gemm<float>* cblas_gemm(float) { return cblas_sgemm; }
Gemm<double>* cblas_gemm(double) { return cblas_dgemm; }
Gemv<float>* cblas_gemv(float) { return cblas_sgemv; }
Gemv<double>* cblas_gemv(double) { return cblas_dgemv; }

constexpr int kRowMajor = 101;
constexpr int flag(bool transpose) { return transpose ? 112 : 111; }

int size(std::int64_t value) {
  require(
      value <= std::numeric_limits<int>::max(), "multiply: a size or stride is ", value,
      ", but the BLAS library counts in 32 bits. Split the matmul, or set GRADUS_BLAS=builtin.");
  return static_cast<int>(value);
}

/// Computes one row or column of C with gemv, which does not copy the matrix. Clears c, because not
/// every gemv clears NaN at beta = 0.
template <class T>
void vector_product(const Matrix<const T>& matrix, T alpha, const T* x, std::int64_t x_stride,
                    T beta, T* y, std::int64_t y_stride) {
  for (std::int64_t i = 0; beta == 0 && i < matrix.rows; ++i) y[i * y_stride] = 0;
  const bool turned = matrix.transposed;
  cblas_gemv(T{})(kRowMajor, flag(turned), size(turned ? matrix.columns : matrix.rows),
                  size(turned ? matrix.rows : matrix.columns), alpha, matrix.data,
                  size(matrix.stride), x, size(x_stride), beta == 0 ? T{1} : beta, y,
                  size(y_stride));
}

template <class T>
void call_library(const Matrix<T>& c, const Matrix<const T>& a, const Matrix<const T>& b, T alpha,
                  T beta) {
  prepare_once();
  if (c.rows == 1)
    return vector_product(b.transpose(), alpha, a.data, a.transposed ? a.stride : 1, beta, c.data,
                          1);
  if (c.columns == 1)
    return vector_product(a, alpha, b.data, b.transposed ? 1 : b.stride, beta, c.data, c.stride);
  cblas_gemm(T{})(kRowMajor, flag(a.transposed), flag(b.transposed), size(c.rows), size(c.columns),
                  size(a.columns), alpha, a.data, size(a.stride), b.data, size(b.stride), beta,
                  c.data, size(c.stride));
}
#endif

/// Adds bias and residual to beta · C. Returns the beta to use.
template <class T>
[[maybe_unused]] T prefill(const Matrix<T>& c, const Options<T>& options) {
  if (options.bias == nullptr && options.residual.data == nullptr) return options.beta;
  for (std::int64_t i = 0; i < c.rows; ++i)
    for (std::int64_t j = 0; j < c.columns; ++j) {
      T& x = *c.at(i, j);
      x = options.beta == 0 ? T{0} : options.beta * x;
      if (options.bias != nullptr) x += options.bias[j];
      if (options.residual.data != nullptr) x += *options.residual.at(i, j);
    }
  return T{1};
}

}  // namespace

template <class T>
void library_product(const Matrix<T>& c, const Matrix<const T>& a, const Matrix<const T>& b,
                     const Options<T>& options) {
#ifdef GRADUS_BLAS_LIBRARY
  call_library(c, a, b, options.alpha, prefill(c, options));
#else
  plain_product(c, a, b, options);
#endif
}

template decltype(library_product<float>) library_product<float>;
template decltype(library_product<double>) library_product<double>;

Library linked_library() {
#ifdef GRADUS_BLAS_LIBRARY
  static const Library linked = find<char*()>("openblas_get_config") != nullptr ? Library::openblas
                                : find<void()>("MKL_Get_Version") != nullptr    ? Library::mkl
                                : find<void()>("bli_info_get_version_str") != nullptr
                                    ? Library::blis
                                    : Library::other;
  return linked;
#else
  return Library::none;
#endif
}

std::string describe_library() {
  switch (linked_library()) {
    case Library::none:
      return "no library";
    case Library::openblas:
      return str_cat(ask_library("openblas_get_config"), ", ", ask_library("openblas_get_corename"),
                     setting_done ? ", its thread pool set to one thread" : "");
    case Library::mkl:
      return "MKL";
    case Library::blis:
      return "BLIS";
    case Library::other:
      return "a CBLAS";
  }
  return "";
}

void set_library_threads(int threads) {
  if (const auto set = find<void(int)>("openblas_set_num_threads")) set(threads);
}

void set_manage_blas_threads(bool allowed) { setting_allowed = allowed; }

}  // namespace gradus::gemm
