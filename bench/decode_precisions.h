#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/nn/models/gpt.h"

namespace gradus::bench {

/// Returns the memory bandwidth of all threads in GB/s: the best of three runs.
double measure_bandwidth();

struct PrecisionBench {
  std::string name;
  std::vector<std::int64_t> text = {};  // text for perplexity; empty: no perplexity
  std::int64_t seen = 64;               // tokens processed before timing starts
  int rounds = 7;
};

/// Compares decoding speed by weight precision with the memory bandwidth. Prints one JSON object
/// per precision, from interleaved rounds: tokens per second, ratio to f32, bytes per token, and
/// share of the bandwidth. With a text, also prints the perplexity and its change from f32.
void time_precisions(const nn::GPT& model, const PrecisionBench& bench);

}  // namespace gradus::bench
