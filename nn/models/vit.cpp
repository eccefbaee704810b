// B batch, N patches, C width.
#include "gradus/nn/models/vit.h"

#include "gradus/nn/init.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::nn {
namespace {

const VisionTransformerOptions& checked(const VisionTransformerOptions& o) {
  require(o.size > 0 && o.patch > 0 && o.size % o.patch == 0, "VisionTransformer: patches of ",
          o.patch, " do not divide images of ", o.size, " pixels");
  require(o.channels > 0 && o.classes > 0,
          "VisionTransformer: channels and classes must be positive, got ", o.channels, " and ",
          o.classes);
  return o;
}

}  // namespace

Tensor patchify(const Tensor& images, std::int64_t patch) {
  require<ShapeError>(
      images.rank() == 4 && patch > 0 && images.size(2) % patch == 0 && images.size(3) % patch == 0,
      "patchify: images must be [batch, channels, height, width], with sizes that patches of ",
      patch, " divide, got ", images.defined() ? to_string(images.shape()) : "undefined");
  const std::int64_t B = images.size(0), channels = images.size(1);
  const std::int64_t rows = images.size(2) / patch, columns = images.size(3) / patch;
  const Tensor apart =
      reshape(images, {B, channels, rows, patch, columns, patch});          // [B, c, R, p, K, p]
  const Tensor in_order = permute(apart, {0, 2, 4, 1, 3, 5});               // [B, R, K, c, p, p]
  return reshape(in_order, {B, rows * columns, channels * patch * patch});  // [B, N, c p²]
}

VisionTransformer::VisionTransformer(const VisionTransformerOptions& given)
    : options(checked(given)),
      patch(given.channels * given.patch * given.patch, given.block.width),
      encoder({.block = given.block, .layers = given.layers}),
      head(given.block.width, given.classes) {
  const std::int64_t side = options.size / options.patch, C = options.block.width;
  class_token = parameter(zeros({1, 1, C}));
  position = parameter(zeros({1, 1 + side * side, C}));
  init::truncated_normal_(position, 0, 0.02, -0.04, 0.04);
  init::zeros_(head.weight);
  init::zeros_(head.bias);
}

Tensor VisionTransformer::forward(const Tensor& images) const {
  const VisionTransformerOptions& o = options;
  require<ShapeError>(images.rank() == 4 && images.size(1) == o.channels &&
                          images.size(2) == o.size && images.size(3) == o.size,
                      "VisionTransformer: images must be [batch, ", o.channels, ", ", o.size, ", ",
                      o.size, "], got ",
                      images.defined() ? to_string(images.shape()) : "undefined");
  const Tensor vectors = patch(patchify(images, o.patch));                       // [B, N, C]
  const Tensor first = expand(class_token, {images.size(0), 1, o.block.width});  // [B, 1, C]
  const Tensor x = dropout(cat({first, vectors}, 1) + position, o.block.dropout, training());
  const Tensor y = encoder(x);   // [B, 1 + N, C]
  return head(select(y, 1, 0));  // [B, classes]
}

}  // namespace gradus::nn
