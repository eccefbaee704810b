// How many threads: from the environment, else the machine's cores, until set_num_threads.
#include "gradus/engine/base/num_threads.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/platform.h"

namespace gradus {
namespace {

std::atomic<int> pool_size{0};  // 0: not asked for yet

/// The number at the front of a variable ("4", or OpenMP's list "4,2"); 0 if there is none.
int threads_from(const char* variable) {
  const char* value = std::getenv(variable);
  const std::string_view list = value ? value : "", first = list.substr(0, list.find(','));
  const char* const end = first.data() + first.size();
  int n = 0;  // stays 0 where there is no number, or one too large
  const bool whole = std::from_chars(first.data(), end, n).ptr == end;
  return whole && n >= 1 && n <= kMaxThreads ? n : 0;
}

}  // namespace

int default_num_threads() {
  if (const int n = threads_from("GRADUS_NUM_THREADS")) return n;
  if (const int n = threads_from("OMP_NUM_THREADS")) return n;
  return std::min(platform::usable_cores(), kMaxThreads);
}

int num_threads() {
  int n = pool_size.load(std::memory_order_relaxed);
  if (n == 0) pool_size.store(n = default_num_threads(), std::memory_order_relaxed);
  return n;
}

void set_num_threads(int n) {
  require(n >= 1 && n <= kMaxThreads, "set_num_threads: ", n, " is not from 1 to ", kMaxThreads);
  pool_size.store(n, std::memory_order_relaxed);
}

}  // namespace gradus
