// Typical mistakes, planted in the expression of a line.
#pragma once

#include <string>
#include <vector>

#include "gradus/tests/derivations/notation.h"

namespace gradus::derivations {

struct Mutant {
  std::string kind;  // "sign", "index", "factor", "term", "transpose", "number" …
  Expression right;
  /// An index was exchanged for an equal one: δ_ij x_i is δ_ij x_j.
  bool may_be_equal = false;
};

/// One mistake each: a sign flipped, an index replaced by another, two indices of a name swapped, a
/// factor or term dropped, a transpose or function dropped, a constant one too large, a product for
/// a division or the reverse, a relation reversed, the entire expression doubled or negated.
std::vector<Mutant> mutants(const Expression& right);

}  // namespace gradus::derivations
