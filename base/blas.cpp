// The one file that knows BLAS. It declares the four functions it calls, so that any CBLAS will do.
//
// Products run single-threaded inside Gradus's own team: one slab each. Measured against OpenBLAS's
// own threads: equal on large products, 1.2 to 1.7 times faster at the sizes of small models, and a
// core that somebody else uses delays one slab instead of a chain of hand-overs.
#include "gradus/base/blas.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <type_traits>

#include "gradus/base/error.h"
#include "gradus/base/packed_gemm.h"
#include "gradus/base/parallel.h"
#include "gradus/base/plain_gemm.h"
#include "gradus/base/platform.h"
#include "gradus/base/thread_state.h"

#ifndef GRADUS_BLAS_PLAIN
template <class T>
using Gemm = void(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);
template <class T>
using Gemv = void(int, int, int, int, T, const T*, int, const T*, int, T, T*, int);
extern "C" Gemm<float> cblas_sgemm;
extern "C" Gemm<double> cblas_dgemm;
extern "C" Gemv<float> cblas_sgemv;
extern "C" Gemv<double> cblas_dgemv;
#endif

namespace gradus::blas {
namespace {

using std::int64_t;

// 2·m·n·k from which a second thread pays: 10 to 40 µs of one core, against 1 to 5 for the start of
// the team. A product with a vector waits for memory, and half a matrix fits the cache of a core:
// from kSplit / 32 on, a token of the `cpu` model, its text of 1,024 cached, takes 0.19 ms; from
// kSplit / 8 on, 0.24.
// (OpenBLAS's OpenMP build uses its own threads from 2·64³ = 0.5 Mflop on: little is left to it.)
constexpr double kSplit = 2e6, kSplitVector = kSplit / 32;
// Slabs are whole micro-tiles: OpenBLAS's largest is 16 rows or columns.
constexpr int64_t kMicroTile = 16;

std::atomic<bool> setting_allowed{true};
[[maybe_unused]] std::atomic<bool> setting_done{false};  // unused where products are plain

#ifndef GRADUS_BLAS_PLAIN
// The pthread build (1) keeps a pool that spins beside ours. The OpenMP build (2) sees our team and
// stays on one thread by itself; its setter would change OpenMP for the whole process.
void set_pool_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    const auto kind = reinterpret_cast<int (*)()>(platform::find_symbol("openblas_get_parallel"));
    const auto set =
        reinterpret_cast<void (*)(int)>(platform::find_symbol("openblas_set_num_threads"));
    if (kind == nullptr || set == nullptr || kind() != 1 || !setting_allowed) return;
    set(1);
    setting_done = true;
  });
}

// The function for a type of number.
Gemm<float>* cblas_gemm(float) { return cblas_sgemm; }
Gemm<double>* cblas_gemm(double) { return cblas_dgemm; }
Gemv<float>* cblas_gemv(float) { return cblas_sgemv; }
Gemv<double>* cblas_gemv(double) { return cblas_dgemv; }

constexpr int kRowMajor = 101;
constexpr int flag(bool transpose) { return transpose ? 112 : 111; }

// One row or column of C: gemv reads the matrix once, where gemm would copy it first. Not every
// gemv clears NaN at beta = 0, so c is cleared here.
template <class T>
void vector_product(bool transpose, int rows, int columns, T alpha, const T* matrix, int ld,
                    const T* x, int x_step, T beta, T* c, int c_step) {
  for (int64_t i = 0; beta == 0 && i < (transpose ? columns : rows); ++i) c[i * c_step] = 0;
  const T keep = beta == 0 ? 1 : beta;
  cblas_gemv(T{})(kRowMajor, flag(transpose), rows, columns, alpha, matrix, ld, x, x_step, keep, c,
                  c_step);
}

#endif

std::string ask_library(const char* name) {
  const auto answer = reinterpret_cast<const char* (*)()>(platform::find_symbol(name));
  return answer != nullptr ? answer() : "";
}

// On cores with AVX-512 packed_gemm is up to a tenth faster than OpenBLAS, and a step of the `long`
// model 6 %. Narrow products, where copying costs more than it saves, are the library's. So is all
// on other cores, and where another library was chosen.
template <class T>
bool packing_pays(int64_t m, int64_t n, int64_t k) {
  static const bool known = [] {
    const std::string core = ask_library("openblas_get_corename");
    return core == "SkylakeX" || core == "Cooperlake" || core == "SapphireRapids";
  }();
  return GRADUS_HAS_WIDE_KERNELS && std::is_same_v<T, float> && known && m >= 128 && n >= 64 &&
         double(m) * double(n) * double(k) > 1e6;
}

void check_size(const char* name, int64_t value, int64_t least) {
  constexpr int64_t most = std::numeric_limits<int>::max();
  require(value >= least && value <= most, "gemm: ", name, " is ", value, ", not between ", least,
          " and ", most,
          value > most ? "; BLAS counts in 32 bits: split it into several products" : "");
}

void check_sizes(bool ta, bool tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                 int64_t ldc) {
  check_size("m", m, 0), check_size("n", n, 0), check_size("k", k, 0);
  if (m == 0 || n == 0) return;
  check_size("ldc", ldc, n);
  if (k > 0) check_size("lda", lda, ta ? m : k), check_size("ldb", ldb, tb ? k : n);
}

}  // namespace

template <class T>
void library_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a,
                  int64_t lda, const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
#ifdef GRADUS_BLAS_PLAIN
  plain_gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
#else
  set_pool_once();
  const auto i = [](int64_t size) { return static_cast<int>(size); };
  if (m == 1)
    return vector_product(!tb, i(tb ? n : k), i(tb ? k : n), alpha, b, i(ldb), a, i(ta ? lda : 1),
                          beta, c, 1);
  if (n == 1)
    return vector_product(ta, i(ta ? k : m), i(ta ? m : k), alpha, a, i(lda), b, i(tb ? 1 : ldb),
                          beta, c, i(ldc));
  cblas_gemm(T{})(kRowMajor, flag(ta), flag(tb), i(m), i(n), i(k), alpha, a, i(lda), b, i(ldb),
                  beta, c, i(ldc));
#endif
}

namespace {

/// c [m, n] = what a product is added to, for one that can only add to C; returns the beta to use.
template <class T>
T prefill(const Addend<T>& to, int64_t m, int64_t n, T* c, int64_t ldc) {
  if (to.old == c && to.bias == nullptr) return to.beta;
  for (int64_t i = 0; i < m; ++i) {
    T* row = c + i * ldc;
    const T* old = to.old + i * to.ldo;
    if (to.beta == 0)
      std::fill_n(row, n, T{0});
    else
      for (int64_t j = 0; j < n; ++j) row[j] = to.beta * old[j];
    if (to.bias != nullptr)
      for (int64_t j = 0; j < n; ++j) row[j] += to.bias[j];
  }
  return T{1};
}

/// On this thread: by our own kernel where that pays, else by the library.
template <class T>
void serial(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
            const T* b, int64_t ldb, const Addend<T>& to, T* c, int64_t ldc) {
  if (m == 0 || n == 0) return;
  if (k > 0 && packing_pays<T>(m, n, k)) {
    const auto packed = ta ? packed_gemm<true, T> : packed_gemm<false, T>;
    return packed(tb, m, n, k, alpha, a, lda, b, ldb, to, c, ldc);
  }
  const T beta = prefill(to, m, n, c, ldc);
  const auto other = k > 0 ? library_gemm<T> : plain_gemm<T>;
  other(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/// One slab a thread along the longer side.
template <class T>
void slabs(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
           const T* b, int64_t ldb, const Addend<T>& to, T* c, int64_t ldc) {
  check_sizes(ta, tb, m, n, k, lda, ldb, ldc);
  const double flop = 2.0 * double(m) * double(n) * double(k);
  const int64_t longer = std::max(m, n), threads = num_threads();
  const int64_t even = (longer + threads - 1) / threads,
                rounded = (even + kMicroTile - 1) / kMicroTile * kMicroTile;
  const bool split =
      flop >= (std::min(m, n) == 1 ? kSplitVector : kSplit) && !thread_state.parallel;
  parallel_for(longer, split ? rounded : longer, [&](int64_t begin, int64_t end) {
    if (m >= n)
      serial(ta, tb, end - begin, n, k, alpha, a + begin * (ta ? 1 : lda), lda, b, ldb,
             to.at(begin, 0), c + begin * ldc, ldc);
    else
      serial(ta, tb, m, end - begin, k, alpha, a, lda, b + begin * (tb ? ldb : 1), ldb,
             to.at(0, begin), c + begin, ldc);
  });
}

}  // namespace

template <class T>
void gemm_serial(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a,
                 int64_t lda, const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  check_sizes(ta, tb, m, n, k, lda, ldb, ldc);
  serial(ta, tb, m, n, k, alpha, a, lda, b, ldb, {beta, c, ldc, nullptr}, c, ldc);
}

template <class T>
void gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
          const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  slabs(ta, tb, m, n, k, alpha, a, lda, b, ldb, {beta, c, ldc, nullptr}, c, ldc);
}

template <class T>
void gemm_plus(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda,
               const T* b, int64_t ldb, const T* bias, const T* residual, T* c, int64_t ldc) {
  const bool adds = residual != nullptr;
  slabs(ta, tb, m, n, k, T{1}, a, lda, b, ldb, {adds ? T{1} : T{0}, adds ? residual : c, ldc, bias},
        c, ldc);
}

template decltype(gemm<float>) gemm<float>;
template decltype(gemm<double>) gemm<double>;
template decltype(gemm_plus<float>) gemm_plus<float>;
template decltype(gemm_plus<double>) gemm_plus<double>;
template decltype(gemm_serial<float>) gemm_serial<float>;
template decltype(gemm_serial<double>) gemm_serial<double>;
template decltype(library_gemm<float>) library_gemm<float>;
template decltype(library_gemm<double>) library_gemm<double>;

std::string describe() {
#ifdef GRADUS_BLAS_PLAIN
  return "plain";
#else
  if (const std::string config = ask_library("openblas_get_config"); !config.empty())
    return text(config, ", ", ask_library("openblas_get_corename"),
                setting_done ? ", pthread pool set to one thread" : "");
  return platform::find_symbol("bli_info_get_version_str") != nullptr ? "BLIS"
         : platform::find_symbol("MKL_Get_Version") != nullptr        ? "MKL"
                                                                      : "a CBLAS";
#endif
}

void allow_pool_setting(bool allowed) { setting_allowed = allowed; }

}  // namespace gradus::blas
