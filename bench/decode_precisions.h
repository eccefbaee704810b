// Decoding from weights of every precision, beside the speed of memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/nn/models/gpt.h"

namespace gradus::bench {

/// Bytes a nanosecond (GB/s) that all threads together read of memory that no cache holds, the best
/// of three times.
double measure_bandwidth();

struct PrecisionBench {
  std::string name;                     // of the model, in what is printed
  std::vector<std::int64_t> text = {};  // tokens to measure perplexity on; empty: it is not
  std::int64_t seen = 64;               // tokens before those that are timed
  int rounds = 7;
};

/// Prints one JSON object for each precision, from rounds that take them in turn: tokens a second
/// and their ratio to f32's, bytes that a token reads, these a second, as part of the best
/// bandwidth measured in these rounds; and on the text perplexity, its change, and how often the
/// likeliest token is f32's.
void time_precisions(const nn::GPT& model, const PrecisionBench& bench);

}  // namespace gradus::bench
