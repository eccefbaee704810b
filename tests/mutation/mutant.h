// The number of the mutant that runs. Mutated sources ask it at every place where one differs.
#pragma once

namespace gradus {

extern int gradus_mutant;                      // 0: none
extern unsigned char* gradus_mutants_reached;  // by the first mutant of a place; null: not noted

/// Is the mutant one of first … last, which stand at one place?
inline bool gradus_mutant_among(int first, int last) {
  if (gradus_mutants_reached) gradus_mutants_reached[first] = 1;
  return static_cast<unsigned>(gradus_mutant - first) <= static_cast<unsigned>(last - first);
}

}  // namespace gradus
