// The number of the mutant that runs. Mutated sources ask it at every place where one differs.
#pragma once

#include <type_traits>

namespace gradus {

extern int gradus_mutant;                      // 0: none
extern unsigned char* gradus_mutants_reached;  // by the first mutant of a place; null: not noted

/// Is the mutant one of first … last, which stand at one place?
inline bool gradus_mutant_among(int first, int last) {
  if (gradus_mutants_reached) gradus_mutants_reached[first] = 1;
  return static_cast<unsigned>(gradus_mutant - first) <= static_cast<unsigned>(last - first);
}

/// `x` as what stands for an expression y of type To: `c ? x : y` is of a type that both can be,
/// and y must be computed as ever. Where y is a reference, no copy that dies at once may stand for
/// it; but numbers are read, not kept.
template <class To, class X>
constexpr decltype(auto) gradus_like(X&& x) {
  using T = std::decay_t<To>;
  if constexpr (std::is_lvalue_reference_v<To> && std::is_class_v<T>) {
    static_assert(std::is_same_v<To, X&&>, "no such reference");
    return static_cast<X&&>(x);
  } else if constexpr (std::is_constructible_v<T, X&&>) {
    return static_cast<T>(static_cast<X&&>(x));
  } else {
    static_assert(!std::is_pointer_v<T>, "a pointer to const would stand for one that is not");
    return static_cast<X&&>(x);  // as a gradient that is none for a tensor
  }
}

/// What stands for `x` where it is not handed on: what nobody has set.
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
