// A sharded training run with dropout, batch statistics, ragged sequences and a short last batch.
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
  std::string optimizer = "adamw";  // adamw, sgd, lion or muon
  double clip_norm = 0.5, clip_value = 0;
  bool resume = false;
  bool worsens = false;  // makes the evaluated loss rise, so that the run stops early
  int stop_rank = -1;    // this rank receives a stop request in the step before stop_step
  std::int64_t stop_step = 0;
  std::function<void(nn::Module& model, std::int64_t i)> before = {};
};

/// On rank 0, returns a checksum of the checkpoint's tensors, followed by metrics.jsonl. The result
/// must be equal for any number of processes.
std::string run_sharded(const ShardedRun& how, distributed::Transport& transport);

}  // namespace gradus::testing
