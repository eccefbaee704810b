// Makes typical mistakes in the expression of a line.
#pragma once

#include <string>
#include <vector>

#include "gradus/tests/derivations/notation.h"

namespace gradus::derivations {

struct Mutant {
  std::string kind;  // "sign", "index", "factor", "term", "transpose", "number" …
  Expression right;
  /// True if an index was replaced with an equal one: δ_ij x_i equals δ_ij x_j.
  bool may_be_equal = false;
};

/// Returns expressions with one mistake each: a flipped sign, an index replaced with another, two
/// swapped indices of a name, a missing factor or term, a missing transpose or function, a constant
/// increased by one, a product replaced with a division or the reverse, a reversed relation, or the
/// entire expression doubled or negated.
std::vector<Mutant> mutants(const Expression& right);

}  // namespace gradus::derivations
