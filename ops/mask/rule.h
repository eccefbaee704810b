#pragma once

#include "gradus/ops/mask/mask.h"

namespace gradus {

/// Base class of mask types. Derive from it to define a custom mask.
class Mask::Rule {
 public:
  virtual ~Rule() = default;
  /// Sets allowed[j] for first.query and key first.key + j, for each of n keys.
  virtual void row(const QueryKey& first, std::int64_t n, bool* allowed) const = 0;
  /// Returns the coverage of a nonempty block. `some` is always valid, but slower.
  virtual Coverage coverage(const MaskBlock& block) const = 0;
  /// Throws if the mask was made for other sizes. Unless `whole`, smaller sizes are valid.
  virtual void check_sizes(const MaskSizes&, bool /*whole*/) const {}
  virtual std::string describe() const = 0;
};

}  // namespace gradus
