#pragma once

#include "gradus/engine/tensor.h"
#include "smiles.h"

namespace gradus::examples {

struct AtomMap {
  std::vector<std::int64_t> reactant;  // by product atom; −1: unmapped
  std::vector<double> confidence;      // by product atom; 1 if unmapped
  double all = 1;                      // product of the confidences
};

/// Maps atoms as in Schwaller et al. 2021. `weights` [T, T] are one head's attention over "[CLS]",
/// the tokens and "[SEP]". Each step maps the most confident pair of atoms of the
/// same element, and multiplies the weights of the pair's neighbors by 90.
AtomMap map_atoms(const Reaction& reaction, const Tensor& weights);

/// Returns the reaction's SMILES, in which atoms that are mapped to each other have the same
/// number.
std::string mapped_text(const Reaction& reaction, const AtomMap& map);

}  // namespace gradus::examples
