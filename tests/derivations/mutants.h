// Mistakes of the usual kinds, planted in the expression of a line.
#pragma once

#include <string>
#include <vector>

#include "gradus/tests/derivations/notation.h"

namespace gradus::derivations {

struct Mutant {
  std::string kind;  // "sign", "index", "factor", "term", "transpose", "number" …
  Expression right;
  /// An index exchanged for one that is equal wherever the rest is not 0: δ_ij x_i is δ_ij x_j.
  bool may_be_equal = false;
};

/// One mistake each: a sign turned, an index exchanged for another of the line, the two of one name
/// exchanged, a factor or term left out, a transpose or function left out, a number one too large,
/// a product for a division and the reverse, a relation turned, the whole doubled or negated.
std::vector<Mutant> mutants(const Expression& right);

}  // namespace gradus::derivations
