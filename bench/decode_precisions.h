// Decoding speed by weight precision, compared with the memory bandwidth.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/nn/models/gpt.h"

namespace gradus::bench {

/// Memory bandwidth in GB/s: all threads read an array larger than any cache. The best of three
/// runs.
double measure_bandwidth();

struct PrecisionBench {
  std::string name;                     // of the model, for the output
  std::vector<std::int64_t> text = {};  // tokens to measure perplexity on; empty: none
  std::int64_t seen = 64;               // tokens before the timed ones
  int rounds = 7;
};

/// Prints one JSON object per precision, from interleaved rounds: tokens per second and their ratio
/// to f32's, bytes read per token and per second, and their share of the bandwidth. If there is a
/// text, adds its perplexity, the change from f32, and how often the likeliest token is the same.
void time_precisions(const nn::GPT& model, const PrecisionBench& bench);

}  // namespace gradus::bench
