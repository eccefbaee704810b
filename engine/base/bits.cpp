#include "gradus/engine/base/bits.h"

#include <atomic>
#include <string_view>

#include "gradus/engine/base/environment.h"
#include "gradus/engine/base/error.h"

namespace gradus {
namespace {

std::atomic<int> chosen{-1};  // −1: not chosen yet

Bits asked_for() {
  const std::string_view value = environment::value_of(environment::Variable::bits);
  if (value == "portable") return Bits::portable;
  require(value.empty() || value == "fast", "GRADUS_BITS=", value,
          ": unknown setting. Set fast or portable.");
  return Bits::fast;
}

}  // namespace

Bits bits() {
  int known = chosen.load(std::memory_order_relaxed);
  if (known < 0) {
    const int asked = static_cast<int>(asked_for());
    if (chosen.compare_exchange_strong(known, asked))
      known = asked;  // unless set_bits() was faster
  }
  return static_cast<Bits>(known);
}

void set_bits(Bits bits) { chosen = static_cast<int>(bits); }

}  // namespace gradus
