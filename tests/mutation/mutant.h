// The active mutant, which mutated sources read at every site.
#pragma once

#include <type_traits>

namespace gradus {

extern int gradus_mutant;                      // 0: none
extern unsigned char* gradus_mutants_reached;  // indexed by the first mutant of a site

/// True if one of the mutants first … last is active. These mutants share a site, which is recorded
/// as reached.
inline bool gradus_mutant_among(int first, int last) {
  if (gradus_mutants_reached) gradus_mutants_reached[first] = 1;
  return static_cast<unsigned>(gradus_mutant - first) <= static_cast<unsigned>(last - first);
}

/// Converts `x` to To, the type of the replaced expression. A temporary must not replace a
/// reference to a class, because the reference would dangle.
template <class To, class X>
constexpr decltype(auto) gradus_like(X&& x) {
  using T = std::decay_t<To>;
  if constexpr (std::is_lvalue_reference_v<To> && std::is_class_v<T>) {
    static_assert(std::is_same_v<To, X&&>, "the types of the references differ");
    return static_cast<X&&>(x);
  } else if constexpr (std::is_constructible_v<T, X&&>) {
    return static_cast<T>(static_cast<X&&>(x));
  } else {
    static_assert(!std::is_pointer_v<T>, "a pointer to const would replace a pointer to non-const");
    return static_cast<X&&>(x);  // for example, a Gradient for a Tensor
  }
}

/// Returns the default of an option, as if `x` were not passed on.
template <class X>
decltype(auto) gradus_unset(X&& x) {
  using T = std::remove_cvref_t<X>;
  if constexpr (std::is_lvalue_reference_v<X>) {
    static T unset{};
    return static_cast<X>(unset);
  } else {
    return T{};
  }
}

}  // namespace gradus
