// Maps tensor names and layouts to those of other libraries.
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
  unrolled,    // convolution kernel [out, …tail] instead of a weight [out, in]
  pairs,       // q, k: rows as pairs (2i, 2i + 1) in each head of width tail[0], not as halves
  again        // another name of a tensor; optional, values must be equal
};

/// A rule of a WeightMap. "{}" represents indices from 0, and a final ".*" represents .weight and
/// .bias. "(q|k|v)" on one side represents multiple tensors, concatenated by rows. A rule is
/// skipped if the model lacks `ours`.
///
///   {"blocks.{}.attention.qkv_proj.*", "layers.{}.(q|k|v)_proj.*", Form::same, {8, 4, 4}}
struct WeightRule {
  std::string ours, theirs;  // names in Gradus and in the other library
  Form form = Form::same;
  std::vector<std::int64_t> parts = {};  // row counts of the other library's tensors, if multiple
  Shape tail = {};                       // unrolled: the other axes; pairs: {head width}
};

/// Maps a model's tensors to those of another library.
struct WeightMap {
  std::vector<WeightRule> rules;
  std::string prefix = {};                // prefix of `theirs`, which files may omit
  std::vector<std::string> ignored = {};  // masks and counters of the other library
};

/// Reads tensors on demand.
struct TensorReader {
  std::map<std::string, Shape> shapes;             // shape of every tensor, by name
  std::function<Tensor(const std::string&)> read;  // returns the tensor of this name
};
TensorReader reader_of(StateDict tensors);

/// Loads each parameter and buffer, converted to the module's dtype. Before reading values, throws
/// a ShapeError that lists missing, mismatched and unexpected tensors. Throws ValueError if two
/// names of one tensor have different values.
void load_mapped(Module& module, const WeightMap& map, const TensorReader& theirs);

/// Returns copies of the module's tensors in the other library's names and layouts. Throws
/// ValueError if the map lacks a tensor.
StateDict mapped_state(const Module& module, const WeightMap& map);

}  // namespace gradus::nn
