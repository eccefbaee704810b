// Power of frequency bands over time.
#pragma once

#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::examples {

constexpr std::int64_t kFrame = 256, kHop = 128;  // samples per frame, and between frames
constexpr std::int64_t kBands = 64;               // of 62.5 Hz at 8,000 samples per second

/// Samples [B, N], N ≥ kFrame → [B, kBands, frames], frames = (N − kFrame) / kHop + 1: log power,
/// about −2 … 3, of frames weighted by Hann's window. Records no graph.
Tensor spectrogram(const Tensor& samples);

/// Draws a spectrogram [1, kBands, frames] with four bands per line, high pitches first.
std::string picture_of(const Tensor& spectrogram);

}  // namespace gradus::examples
