// Atom mapping from a model's attention.
#pragma once

#include "gradus/engine/tensor.h"
#include "smiles.h"

namespace gradus::examples {

struct AtomMap {
  std::vector<std::int64_t> reactant;  // of each product atom; −1: unmapped
  std::vector<double> confidence;      // of each product atom; 1 if unmapped
  double all = 1;                      // product of the confidences
};

/// Schwaller et al. 2021. weights [T, T] of one head, over "[CLS]", the tokens and "[SEP]". Each
/// step takes the most confident pair of atoms of one element, and multiplies the weights of its
/// neighbors by 90.
AtomMap map_atoms(const Reaction& reaction, const Tensor& weights);

/// The reaction with atom numbers, equal for mapped atoms.
std::string mapped_text(const Reaction& reaction, const AtomMap& map);

}  // namespace gradus::examples
