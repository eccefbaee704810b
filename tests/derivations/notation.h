// The notation of docs/derivations: a line's text, read into a tree.
//
//   sum      = term { (+ | −) term }
//   term     = [−] factor { [· | ⊙ | /] factor }    side by side: a product, also of matrices
//   factor   = Σ_ij term | Π_j term | max_j term | min_j term | power
//   power    = postfix [² | ³ | ⁻¹ | ^postfix]
//   postfix  = primary { ᵀ | _subscript }
//   primary  = number | ½ | π | name | function(sum, …) | √postfix | (sum) | |sum|
//            | [sum relation sum] | ∂postfix/∂name_subscript
//
// A subscript is a row of places: letters, digits and {sum}; δ_ij is 1 where i = j. const(x) is x,
// held fixed while ∂ moves the others. What follows Σ_j belongs to it up to the next + or −. After
// a division a product needs its dot.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::derivations {

/// A text that is no expression, or one that has no value: what and where.
struct NotationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Kind {
  number,
  name,        // text; children: its subscript, none for the whole tensor
  sum,         // children; signs[i] of each
  product,     // children; text[i] is '*', '/' or 'o' (⊙) before child i
  power,       // base, exponent
  transpose,   // of one
  element,     // children: a tensor's expression, then its subscript
  function,    // text: its name; children: arguments
  reduce,      // text: "Σ", "Π", "max" or "min"; letters; one child
  relation,    // text: = ≠ < > ≤ ≥; two children: 1 where it holds, else 0
  delta,       // two children: 1 where they are equal
  derivative,  // ∂ child 0 / ∂ child 1, a name
};

struct Expression {
  Kind kind = Kind::number;
  double number = 0;
  std::string text = {}, letters = {};
  std::vector<int> signs = {};
  std::vector<Expression> children = {};
};

/// The tree of `text`. NotationError where it is not one expression.
Expression parse(std::string_view text);

/// The text of a tree, with all its parentheses: what a mistake was planted in.
std::string spell(const Expression& e);

}  // namespace gradus::derivations
