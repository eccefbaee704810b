// What one kind of mask must answer. mask.cpp, pattern.cpp and remap.cpp have the kinds.
#pragma once

#include "gradus/ops/mask/mask.h"

namespace gradus {

class Mask::Rule {
 public:
  virtual ~Rule() = default;
  /// allowed[j] = may first.query attend to key first.key + j, for n keys.
  virtual void row(const QueryKey& first, std::int64_t n, bool* allowed) const = 0;
  /// Of a block that is not empty; `some` is always a right answer, only a slower one.
  virtual Coverage coverage(const MaskBlock& block) const = 0;
  /// Throws if the mask was made for other sizes. Unless `whole` they are a part only, of which the
  /// mask must be able to answer: what is drawn, or the positions that remap_positions() gives.
  virtual void check_sizes(const MaskSizes&, bool /*whole*/) const {}
  virtual std::string describe() const = 0;
};

}  // namespace gradus
