// A run in shards for tests: a model with dropout and batch statistics, ragged lengths, a short
// last batch; and all that it leaves behind, as one text.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "gradus/train/distributed/transport.h"
#include "gradus/train/trainer.h"

namespace gradus::testing {

struct ShardedRun {
  std::string directory;
  std::int64_t shards = 8, steps = 20;
  std::string optimizer = "adamw";  // or sgd, lion, muon
  double clip_norm = 0.5, clip_value = 0;
  bool resume = false;
  bool worsens = false;  // what is judged; it stops after an evaluation without a better one
  int stop_rank = -1;    // this process is asked to stop in the step before stop_step
  std::int64_t stop_step = 0;
  /// Before each loss.
  std::function<void(nn::Module& model, std::int64_t i)> before = {};
};

/// Trains; returns the checksum of all weights, buffers and moments as the checkpoint has them, and
/// the bytes of metrics.jsonl: what must be equal for any number of processes. At rank 0.
std::string run_sharded(const ShardedRun& how, distributed::Transport& transport);

}  // namespace gradus::testing
