// Proof that a run computed what it claims, on any machine.
//
// With TrainOptions::hash_weights, each line of metrics.jsonl has a hash of every parameter after
// the step. verify() repeats the run and compares. With portable bits (engine/base/bits.h), they
// agree on every processor.
//
//   set_bits(Bits::portable);
//   seed(1);
//   Model model;                             // as when the run began
//   optim::AdamW optimizer(model.parameters());
//   const train::Verified found = train::verify(model, optimizer, schedule, options, loss_of);
//   if (found.difference) std::puts(found.difference->parameter.c_str());
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gradus/nn/module.h"
#include "gradus/train/trainer.h"

namespace gradus::train {

/// Returns eight hexadecimal digits for each parameter, in order. A hash of 32 bits; one changed
/// value always changes it.
std::string hash_of(const std::vector<nn::NamedTensor>& parameters);

/// Steps counted from 1, inclusive.
struct StepRange {
  std::int64_t first = 1, last = std::numeric_limits<std::int64_t>::max();
};

/// What verify() found.
struct Verified {
  std::int64_t compared = 0;  // steps whose hashes were compared
  std::int64_t step = 0;      // completed steps
  /// The first step, and its first parameter, that differ.
  struct Difference {
    std::int64_t step;
    std::string parameter;
  };
  std::optional<Difference> difference;
};

/// Repeats the run in options.directory from its first step, and compares the logged steps in
/// `steps`. Ends at the first difference, or early if *options.stop is set. Writes no file. Model,
/// optimizer, schedule and generator() must be as when the run began. Any number of processes may
/// have trained it. Throws FileError if the log has no hashes for these steps, and ValueError if
/// the run had a time limit, because its steps depended on the clock.
Verified verify(nn::Module& model, optim::Optimizer& optimizer, optim::Schedule schedule,
                const TrainOptions& options, const Loop::LossOf& loss_of,
                const StepRange& steps = {});

}  // namespace gradus::train
