// VisionTransformer: treats an image as a sequence of patches.
#pragma once

#include "gradus/nn/transformer.h"

namespace gradus::nn {

/// Options of VisionTransformer.
struct VisionTransformerOptions {
  std::int64_t size = 0, patch = 0;  // in pixels per side; patch divides size
  std::int64_t channels = 1, classes = 0;
  std::int64_t layers = 1;
  BlockOptions block = {};
};

/// Splits images into patches in reading order: [B, channels, size, size] →
/// [B, (size / patch)², channels · patch²].
Tensor patchify(const Tensor& images, std::int64_t patch);

/// A class token and projected patches plus learned positions, an encoder, and a head on the class
/// token. Images [B, channels, size, size] → logits [B, classes]. Dosovitskiy et al. 2021.
class VisionTransformer : public Layer<VisionTransformer> {
 public:
  explicit VisionTransformer(const VisionTransformerOptions& options);
  Tensor forward(const Tensor& images) const;
  Members members() override {
    return {{"patch", patch},
            {"class_token", class_token},
            {"position", position},
            {"encoder", encoder},
            {"head", head}};
  }

  VisionTransformerOptions options;
  Linear patch;        // [C, channels · patch²]
  Tensor class_token;  // [1, 1, C]
  Tensor position;     // [1, 1 + patches, C]
  Encoder encoder;
  Linear head;  // [classes, C]
};

}  // namespace gradus::nn
