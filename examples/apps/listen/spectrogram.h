// Computes the power of frequency bands over time.
#pragma once

#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::examples {

constexpr std::int64_t kFrame = 256, kHop = 128;  // samples per frame, and between frame starts
constexpr std::int64_t kBands = 64;               // bands of 62.5 Hz at 8,000 samples per second

/// Samples [B, N], N ≥ kFrame → [B, kBands, frames], frames = (N − kFrame) / kHop + 1: log power,
/// about −2 … 3, of frames weighted by Hann's window. Does not record a graph.
Tensor spectrogram(const Tensor& samples);

/// Draws a spectrogram of shape [1, kBands, frames] with four bands per line, high frequencies
/// first.
std::string picture_of(const Tensor& spectrogram);

}  // namespace gradus::examples
