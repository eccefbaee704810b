// Reads SMILES, a text notation for molecules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::examples {

/// A reaction "reactants>>products"; "." separates molecules.
struct Reaction {
  std::vector<std::string> tokens;
  std::vector<std::int64_t> atoms;   // index of each token's atom, or −1
  std::vector<std::string> element;  // element of each atom; "C" also for "c"
  std::vector<std::vector<std::int64_t>> neighbours;
  std::int64_t split = 0;           // index of the token ">>"
  std::int64_t reactant_atoms = 0;  // they come first
};

/// Throws ValueError for unknown symbols, open branches or rings, and unless there is one ">>".
Reaction read_reaction(const std::string& text);

}  // namespace gradus::examples
