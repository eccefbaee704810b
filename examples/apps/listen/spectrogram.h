// How strong each band of pitches is, frame after frame.
#pragma once

#include <string>

#include "gradus/engine/tensor.h"

namespace gradus::examples {

constexpr std::int64_t kFrame = 256, kHop = 128;  // samples of a frame, and from one to the next
constexpr std::int64_t kBands = 64;               // of 62.5 Hz each at 8,000 samples a second

/// Samples [B, N], N ≥ kFrame → [B, kBands, frames], frames = (N − kFrame) / kHop + 1: the log of
/// the power in each band, about −2 … 3. A frame is weighted by Hann's window; its Fourier
/// transform is a product with sines and cosines. Not recorded: nothing here is learnt.
Tensor spectrogram(const Tensor& samples);

/// A spectrogram [1, kBands, frames] in characters: time goes right, pitch up, four bands a line.
std::string picture_of(const Tensor& spectrogram);

}  // namespace gradus::examples
