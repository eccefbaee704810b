// Power of frequency bands over time.
#pragma once

#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::examples {

constexpr std::int64_t kFrame = 256, kHop = 128;  // samples per frame, and between frames
constexpr std::int64_t kBands = 64;               // of 62.5 Hz at 8,000 samples per second

/// Samples [B, N], N ≥ kFrame → [B, kBands, frames], frames = (N − kFrame) / kHop + 1: log of each
/// band's power, about −2 … 3. Frames are weighted by Hann's window and multiplied by sines and
/// cosines. Records no graph.
Tensor spectrogram(const Tensor& samples);

/// Draws a spectrogram [1, kBands, frames]: time to the right, pitch up, four bands per line.
std::string picture_of(const Tensor& spectrogram);

}  // namespace gradus::examples
