#include "gradus/engine/base/num_threads.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <string_view>

#include "gradus/engine/base/environment.h"
#include "gradus/engine/base/error.h"
#include "gradus/engine/base/platform.h"

namespace gradus {
namespace {

std::atomic<int> pool_size{0};

/// Returns the first number of a list such as "4,2", or 0.
int threads_from(environment::Variable variable) {
  const std::string_view list = environment::value_of(variable),
                         first = list.substr(0, list.find(','));
  const char* const end = first.data() + first.size();
  int n = 0;
  const bool whole = std::from_chars(first.data(), end, n).ptr == end;
  return whole && n >= 1 && n <= kMaxThreads ? n : 0;
}

}  // namespace

int default_num_threads() {
  using environment::Variable;
  if (const int n = threads_from(Variable::num_threads)) return n;
  if (const int n = threads_from(Variable::omp_num_threads)) return n;
  return std::min(platform::usable_cores(), kMaxThreads);
}

int num_threads() {
  int n = pool_size.load(std::memory_order_relaxed);
  if (n == 0) pool_size.store(n = default_num_threads(), std::memory_order_relaxed);
  return n;
}

void set_num_threads(int n) {
  require(n >= 1 && n <= kMaxThreads, "set_num_threads: n must be from 1 to ", kMaxThreads,
          ", got ", n);
  pool_size.store(n, std::memory_order_relaxed);
}

}  // namespace gradus
