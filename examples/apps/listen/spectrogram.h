#pragma once

#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::examples {

constexpr std::int64_t kFrame = 256, kHop = 128;  // samples per frame, and between frame starts
constexpr std::int64_t kBands = 64;               // bands of 62.5 Hz at 8,000 samples per second

/// Returns log power, about −2 … 3: samples [B, N ≥ kFrame] → [B, kBands, (N − kFrame) / kHop + 1].
/// Does not record a graph.
Tensor spectrogram(const Tensor& samples);

/// Draws a spectrogram of shape [1, kBands, frames], four bands per line, high frequencies first.
std::string picture_of(const Tensor& spectrogram);

}  // namespace gradus::examples
