// Packing: a model that is used and no longer trained keeps its weights in less room.
#pragma once

#include "gradus/nn/module.h"
#include "gradus/ops/packed.h"

namespace gradus::nn {

/// Every Linear and Embedding below `module` keeps its weight as `precision` from now on; their
/// biases, and what norms have, stay f32, as does the arithmetic. No gradient flows through such a
/// layer, and state_dict() refuses the model. f32 changes nothing. ValueError names the weight that
/// the format cannot hold; GraphError: one that is packed already. Refused, nothing is packed.
void pack(Module& module, Precision precision);

/// The precision at which this model decodes fastest without a loss that perplexity shows: bf16, or
/// f32 for weights that the caches hold, which no narrower ones are read faster than.
Precision fast_precision(const Module& module);

}  // namespace gradus::nn
