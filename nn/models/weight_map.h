// Tensor names and layouts of other libraries.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gradus/nn/module.h"

namespace gradus::nn {

/// Layout of a tensor in the other library.
enum class Form {
  same,
  transposed,  // [in, out], as in GPT-2's files
  unrolled,    // convolution kernel [out, …tail] of a weight [out, in]
  pairs,       // q, k: rows in pairs (2i, 2i + 1) per head of width tail[0], not halves
  again        // second name of a tensor: optional, must be equal
};

/// One line of a map. "{}" counts from 0, "(q|k|v)" on one side is several tensors, row after row,
/// and a final ".*" is .weight and .bias. Skipped if the model lacks `ours`.
///
///   {"blocks.{}.attention.qkv_proj.*", "layers.{}.(q|k|v)_proj.*", Form::same, {8, 4, 4}}
struct WeightRule {
  std::string ours, theirs;  // name in Gradus and in the other library
  Form form = Form::same;
  std::vector<std::int64_t> parts = {};  // rows of each of their tensors, if several
  Shape tail = {};                       // of unrolled: the other axes; of pairs: {head width}
};

/// Correspondence of a model's tensors to those of another library.
struct WeightMap {
  std::vector<WeightRule> rules;
  std::string prefix = {};                // of their names; files may omit it
  std::vector<std::string> ignored = {};  // their masks and counters, which are not read
};

/// Tensors that are read on demand.
struct TensorReader {
  std::map<std::string, Shape> shapes;             // of every tensor, by name
  std::function<Tensor(const std::string&)> read;  // returns the tensor of this name
};
TensorReader reader_of(StateDict tensors);

/// Fills every parameter and buffer, converted to its dtype. Throws ShapeError, before reading,
/// listing missing, mismatched and unexpected tensors. Throws ValueError if a second name holds
/// other values.
void load_mapped(Module& module, const WeightMap& map, const TensorReader& theirs);

/// Copies of the module's tensors in their names and layouts. Throws ValueError if the map lacks
/// one.
StateDict mapped_state(const Module& module, const WeightMap& map);

}  // namespace gradus::nn
