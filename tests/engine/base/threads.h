#pragma once

#include "gradus/engine/base/num_threads.h"

namespace gradus::tests {

struct Threads {
  explicit Threads(int n) : before(num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  int before;
};

}  // namespace gradus::tests
