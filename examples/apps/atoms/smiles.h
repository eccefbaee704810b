// SMILES, the notation of molecules, as far as atom mapping reads it: tokens, atoms, bonds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::examples {

/// A reaction "reactants>>products", molecules separated by ".".
struct Reaction {
  std::vector<std::string> tokens;   // of the text: atoms, bonds, brackets, ring numbers
  std::vector<std::int64_t> atoms;   // of each token: the number of its atom, −1 where it is none
  std::vector<std::string> element;  // of each atom: "C", also where it is written "c"
  std::vector<std::vector<std::int64_t>> neighbours;  // of each atom
  std::int64_t split = 0;                             // the token ">>"
  std::int64_t reactant_atoms = 0;                    // they come first
};

/// ValueError names the place of what is no SMILES: an unknown sign, a branch or a ring that does
/// not end, a reaction without ">>" or with two.
Reaction read_reaction(const std::string& text);

}  // namespace gradus::examples
