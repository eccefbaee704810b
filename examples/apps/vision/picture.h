#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gradus/nn/models/vit.h"

namespace gradus::examples {

/// Loads values in [0, 1] as a tensor of shape [1, 1, kSide, kSide]. Throws FileError.
Tensor load_picture(const std::string& file);

struct Looked {
  std::vector<std::pair<std::int64_t, double>> guess;  // digits, most likely first
  std::vector<double> where;  // kSide² values up to 1: attention of the class token
};
/// Classifies a picture. `where` is the last block's attention, averaged over the heads.
Looked look_at(const nn::VisionTransformer& model, const Tensor& picture);

/// Draws `picture` next to `where`, two characters per pixel, from ' ' for 0 to '@' for 1.
std::string side_by_side(const Tensor& picture, const std::vector<double>& where);

}  // namespace gradus::examples
