#include "picture.h"

#include <algorithm>
#include <cmath>

#include "digits.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/io/npy.h"
#include "gradus/nn/attention_record.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::examples {

Tensor load_picture(const std::string& file) {
  const Tensor x = io::load_npy(file);
  require<FileError>(x.shape() == Shape{kSide, kSide}, file, ": has the shape ", x.shape(),
                     ", but a picture must be [", kSide, ", ", kSide, "]");
  for (const double ink : x.to(Dtype::f64).to_vector<double>())
    require<FileError>(0 <= ink && ink <= 1, file,
                       ": values must be from 0 (paper) to 1 (ink), got ", ink);
  return reshape(x.to(Dtype::f32), {1, 1, kSide, kSide});
}

Looked look_at(const nn::VisionTransformer& model, const Tensor& picture) {
  const NoGrad off;
  const nn::AttentionRecord record;
  Looked looked{ranked(model(picture)), {}};
  const Tensor weights = record.entries().back().weights;  // [1, H, 1 + N, 1 + N]
  const Tensor first = select(mean(weights, {1}), 1, 0);   // [1, 1 + N]: the class token's row
  std::vector<double> share = slice(first, 1, 1, first.size(1)).to(Dtype::f64).to_vector<double>();
  const double most = *std::max_element(share.begin(), share.end());
  const std::int64_t patch = model.options.patch, columns = kSide / patch;
  for (std::int64_t y = 0; y < kSide; ++y)
    for (std::int64_t x = 0; x < kSide; ++x)
      looked.where.push_back(share[static_cast<std::size_t>(y / patch * columns + x / patch)] /
                             most);
  return looked;
}

std::string side_by_side(const Tensor& picture, const std::vector<double>& where) {
  const std::string shades = " .:-=+*#%@";
  const std::vector<double> ink = picture.to(Dtype::f64).to_vector<double>();
  const auto row = [&](const std::vector<double>& x, std::int64_t y) {
    std::string line;
    for (std::int64_t i = y * kSide; i < (y + 1) * kSide; ++i) {
      const double shade = x[static_cast<std::size_t>(i)] * static_cast<double>(shades.size() - 1);
      line += std::string(2, shades[static_cast<std::size_t>(std::lround(shade))]);
    }
    return line;
  };
  std::string lines;
  for (std::int64_t y = 0; y < kSide; ++y) {
    std::string line = row(ink, y) + "  |  " + row(where, y);
    line.erase(line.find_last_not_of(' ') + 1);
    lines += line + "\n";
  }
  return lines;
}

}  // namespace gradus::examples
