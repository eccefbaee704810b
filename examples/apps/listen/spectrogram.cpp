#include "spectrogram.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "gradus/engine/base/math64.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/members.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::examples {
namespace {

/// Returns [kFrame, 2 · 2 kBands]: Hann's window times cos(2π (k + 1) n / kFrame), then times
/// sines. Each band has two frequencies.
Tensor fourier() {
  constexpr std::int64_t pitches = 2 * kBands;
  std::vector<float> numbers(kFrame * 2 * pitches);
  for (std::int64_t n = 0; n < kFrame; ++n)
    for (std::int64_t k = 0; k < pitches; ++k) {
      const double turn = 2 * std::numbers::pi * static_cast<double>(n) / kFrame;
      const double window = 0.5 - 0.5 * math64::cos(turn);
      const double angle = turn * static_cast<double>(k + 1);
      const auto at = static_cast<std::size_t>(n * 2 * pitches + k);
      numbers[at] = static_cast<float>(window * math64::cos(angle));
      numbers[at + pitches] = static_cast<float>(window * math64::sin(angle));
    }
  return tensor(numbers, {kFrame, 2 * pitches});
}

}  // namespace

Tensor spectrogram(const Tensor& samples) {
  static const Tensor transform = fourier();  // [kFrame, 4 · kBands]
  const NoGrad off;
  const Tensor x = samples.contiguous();
  const std::int64_t B = x.size(0), N = x.size(1), frames = (N - kFrame) / kHop + 1;
  const Tensor framed =
      kernel::strided_view(x, {B, frames, kFrame}, {N, kHop, 1}, x.offset()).contiguous();
  const Tensor waves = square(matmul(framed, transform));          // [B, frames, 4 · kBands]
  const Tensor parts = reshape(waves, {B, frames, 2, kBands, 2});  // cos or sin, two frequencies
  const Tensor power = sum(parts, {2, 4});                         // [B, frames, kBands]
  return contiguous(transpose(0.5 * log(power + 1e-2), 1, 2));     // [B, kBands, frames]
}

std::string picture_of(const Tensor& spectrogram) {
  constexpr std::int64_t together = 4;
  const std::string shades = " .:-=+*#%@";
  const std::int64_t frames = spectrogram.size(2);
  const std::vector<double> x = spectrogram.to(Dtype::f64).to_vector<double>();
  const double low = *std::min_element(x.begin(), x.end());
  const double span = std::max(*std::max_element(x.begin(), x.end()) - low, 1e-9);
  std::string lines;
  for (std::int64_t line = kBands / together; line-- > 0;) {
    for (std::int64_t frame = 0; frame < frames; ++frame) {
      double most = low;
      for (std::int64_t band = line * together; band < (line + 1) * together; ++band)
        most = std::max(most, x[static_cast<std::size_t>(band * frames + frame)]);
      const double shade = (most - low) / span * static_cast<double>(shades.size() - 1);
      lines += shades[static_cast<std::size_t>(std::lround(shade))];
    }
    lines.erase(lines.find_last_not_of(' ') + 1);
    lines += "\n";
  }
  return lines;
}

}  // namespace gradus::examples
