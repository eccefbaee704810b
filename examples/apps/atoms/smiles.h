// Reads tokens, atoms and bonds of SMILES, a notation of molecules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::examples {

/// "reactants>>products", molecules separated by ".".
struct Reaction {
  std::vector<std::string> tokens;
  std::vector<std::int64_t> atoms;   // for each token: index of its atom, or −1
  std::vector<std::string> element;  // "C" also for "c"
  std::vector<std::vector<std::int64_t>> neighbours;
  std::int64_t split = 0;           // index of ">>"
  std::int64_t reactant_atoms = 0;  // they come first
};

/// Throws ValueError for unknown signs, open branches or rings, and unless there is one ">>".
Reaction read_reaction(const std::string& text);

}  // namespace gradus::examples
