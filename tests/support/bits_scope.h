#pragma once

#include "gradus/engine/base/bits.h"

namespace gradus::testing {

/// Sets Bits during its lifetime.
class BitsScope {
 public:
  explicit BitsScope(Bits bits) { set_bits(bits); }
  ~BitsScope() { set_bits(before_); }
  BitsScope(const BitsScope&) = delete;
  BitsScope& operator=(const BitsScope&) = delete;

 private:
  Bits before_ = bits();
};

}  // namespace gradus::testing
