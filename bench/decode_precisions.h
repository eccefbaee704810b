// Decoding speed by weight precision, compared with the memory bandwidth.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/nn/models/gpt.h"

namespace gradus::bench {

/// Memory bandwidth in GB/s of all threads: the best of three runs.
double measure_bandwidth();

struct PrecisionBench {
  std::string name;                     // of the model
  std::vector<std::int64_t> text = {};  // for perplexity; empty: none
  std::int64_t seen = 64;               // untimed tokens before
  int rounds = 7;
};

/// Prints one JSON object per precision, from interleaved rounds: tokens per second, ratio to f32,
/// bytes per token and per second, share of the bandwidth. With a text, also the perplexity, its
/// change from f32, and how often the likeliest token is the same.
void time_precisions(const nn::GPT& model, const PrecisionBench& bench);

}  // namespace gradus::bench
