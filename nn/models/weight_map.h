// WeightMap: the names that other libraries give the tensors of a model, readable both ways.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gradus/nn/module.h"

namespace gradus::nn {

/// The layout of a tensor in the other library.
enum class Form {
  same,
  transposed,  // [in, out], as in GPT-2's files
  unrolled,    // [out, …tail] of a weight [out, in]: a convolution's
  pairs,       // the first two parts' rows as pairs (2i, 2i + 1) a head of tail[0], not halves
  again        // a second name of a tensor: may be missing, and must be equal where it is not
};

/// One line of a map. "{}" is a number that counts from 0, "(q|k|v)" several tensors whose rows
/// follow each other (on one side of a line), and a ".*" at the end .weight and .bias. A line whose
/// `ours` the model does not have is skipped.
///
///   {"blocks.{}.attention.qkv_proj.*", "layers.{}.(q|k|v)_proj.*", Form::same, {8, 4, 4}}
struct WeightRule {
  std::string ours, theirs;  // the name in Gradus, and in the other library
  Form form = Form::same;
  std::vector<std::int64_t> parts = {};  // rows of each of their tensors, where a line has several
  Shape tail = {};
};

struct WeightMap {
  std::vector<WeightRule> rules;
  std::string prefix = {};                // of their names, which files may leave out
  std::vector<std::string> ignored = {};  // theirs that hold nothing learned: masks, counters
};

/// Tensors that are read when they are wanted, as files give them.
struct TensorReader {
  std::map<std::string, Shape> shapes;
  std::function<Tensor(const std::string&)> read;
};
TensorReader reader_of(StateDict tensors);

/// Fills every parameter and buffer, converted to its dtype, from tensors that are each used once.
/// ShapeError, before anything is read, lists all that is missing, misshapen or unexpected;
/// ValueError where a second name holds other numbers.
void load_mapped(Module& module, const WeightMap& map, const TensorReader& theirs);

/// The module's numbers under their names, in their form; copies. ValueError for one that no line
/// of the map names.
StateDict mapped_state(const Module& module, const WeightMap& map);

}  // namespace gradus::nn
