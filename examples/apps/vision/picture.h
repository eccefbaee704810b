// Pictures as files and in characters, and where a model looked in one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gradus/nn/models/vit.h"

namespace gradus::examples {

/// A .npy file of kSide × kSide numbers in [0, 1], as [1, 1, kSide, kSide]. FileError:
/// anything else.
Tensor load_picture(const std::string& file);

/// What a model makes of one picture [1, 1, kSide, kSide].
struct Looked {
  std::vector<std::pair<std::int64_t, double>> guess;  // digits from the likeliest on
  std::vector<double> where;  // kSide², of 1 at most: how much the class token attended there
};
/// Where: the attention of the class token in the last block, mean over the heads.
Looked look_at(const nn::VisionTransformer& model, const Tensor& picture);

/// Lines of two characters a pixel, from ' ' for 0 to '@' for 1: the picture, then `where`.
std::string side_by_side(const Tensor& picture, const std::vector<double>& where);

}  // namespace gradus::examples
