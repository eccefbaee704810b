// derive: why an operation's gradient is what backward computes, line by line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gradus {

/// The derivation of an operation's gradient as text: the formula of forward, then lines
/// `expression ⟵ reason` from the definition of the gradient to what Op::backward computes, then
/// where that stands in the code. It is the file docs/derivations/NAME.md, each line of which is
/// evaluated by the tests. `what` is an operation's name, as Op::name() gives it, or a variant's
/// ("attention_grouped"), or a formula of einsum, "bhtd,bhsd->bhts", whose lines are made by
/// exchanging letters. ValueError for a name that has none, and for what is no such formula.
std::string derive(std::string_view what);

/// The same of a name; empty where there is none.
std::string derivation(std::string_view name);

/// The names that derivation() knows, sorted.
std::vector<std::string> derivation_names();

namespace trace {

struct Derivation {
  const char *name, *text;
};
extern const Derivation
    kDerivations[];  // from docs/derivations: tools/cmake/GradusDerivations.cmake
extern const std::size_t kDerivationCount;

}  // namespace trace
}  // namespace gradus
