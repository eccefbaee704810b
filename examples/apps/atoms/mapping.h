// Which atom of a product was which atom of the reactants, as a model's attention says.
#pragma once

#include "gradus/engine/tensor.h"
#include "smiles.h"

namespace gradus::examples {

struct AtomMap {
  std::vector<std::int64_t>
      reactant;                    // of each product atom: the reactant's, −1 where none is left
  std::vector<double> confidence;  // of each, 1 where there was no choice
  double all = 1;                  // the product of these
};

/// Schwaller et al. 2021. weights [T, T] of one head, over "[CLS]", the tokens and "[SEP]": atoms
/// of one element look at each other, and each step takes the pair that is the surest of all, after
/// which their neighbours become ninety times as likely for each other.
AtomMap map_atoms(const Reaction& reaction, const Tensor& weights);

/// The reaction with its map: an atom's number in a product stands at the reactants' atom too.
std::string mapped_text(const Reaction& reaction, const AtomMap& map);

}  // namespace gradus::examples
