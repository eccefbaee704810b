// The notation of docs/derivations, parsed into a tree.
//
//   sum      = term { (+ | −) term }
//   term     = [−] factor { [· | ⊙ | /] factor }    juxtaposed: a product, also of matrices
//   factor   = Σ_ij term | Π_j term | max_j term | min_j term | power
//   power    = postfix [² | ³ | ⁻¹ | ^postfix]
//   postfix  = primary { ᵀ | _subscript }
//   primary  = number | ½ | π | name | function(sum, …) | √postfix | (sum) | |sum|
//            | [sum relation sum] | ∂postfix/∂name_subscript
//
// A subscript is a sequence of letters, digits and {sum}. δ_ij is 1 if i = j, else 0. const(x) is
// x, but ∂ treats it as a constant. Σ_j extends to the next + or −. After a division, a product
// requires a dot.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::derivations {

/// Thrown if a text cannot be parsed or evaluated.
struct NotationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Kind {
  number,
  name,        // text; children: its subscript, or none for the entire tensor
  sum,         // children; signs[i] of each
  product,     // children; text[i] is '*', '/' or 'o' (⊙) before child i
  power,       // base, exponent
  transpose,   // one child
  element,     // children: a tensor's expression, then its subscript
  function,    // text: its name; children: its arguments
  reduce,      // text: "Σ", "Π", "max" or "min"; letters; one child
  relation,    // text: = ≠ < > ≤ ≥; two children; 1 if true, else 0
  delta,       // two children; 1 if equal, else 0
  derivative,  // ∂ child 0 / ∂ child 1, which is a name
};

struct Expression {
  Kind kind = Kind::number;
  double number = 0;
  std::string text = {}, letters = {};
  std::vector<int> signs = {};
  std::vector<Expression> children = {};
};

/// Throws NotationError if `text` is not exactly one expression.
Expression parse(std::string_view text);

/// Returns the fully parenthesized text of a tree.
std::string spell(const Expression& e);

}  // namespace gradus::derivations
