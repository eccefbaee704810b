// derive: explains an op's gradient line by line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gradus {

/// The derivation of an op's gradient: the forward formula, lines `expression ⟵ reason` from the
/// definition of the gradient to the code of Op::backward, then the location of that code. It is
/// the file docs/derivations/NAME.md; the tests evaluate each line. `what` is Op::name(), a variant
/// ("attention_grouped"), or an einsum formula, "bhtd,bhsd->bhts", for which the lines are
/// generated. Throws ValueError for an unknown name or an invalid formula.
std::string derive(std::string_view what);

/// The derivation of a named op; empty if there is none.
std::string derivation(std::string_view name);

/// The names accepted by derivation(), sorted.
std::vector<std::string> derivation_names();

namespace trace {

struct Derivation {
  const char *name, *text;
};
extern const Derivation
    kDerivations[];  // from docs/derivations, by tools/cmake/GradusDerivations.cmake
extern const std::size_t kDerivationCount;

}  // namespace trace
}  // namespace gradus
