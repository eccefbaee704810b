// A training run with portable bits has the weights of tests/golden/portable_run.txt on every
// processor, with every compiler.
#include "gradus/engine/base/bits.h"

#include "gradus/engine/base/random.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/bits_scope.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/golden.h"
#include "gradus/train/data.h"
#include "gradus/train/optim/muon.h"
#include "gradus/train/verify.h"

namespace gradus::testing::test_bits {
namespace {

std::vector<std::int64_t> tokens() {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < 400; ++i) all.push_back((i * i + i / 7) % 29);
  return all;
}

/// Returns one line for each parameter after 20 steps: its name and hash.
std::string weights_of_run() {
  seed(11);
  nn::GPT model({.vocab = 29,
                 .context = 24,
                 .layers = 2,
                 .block = {.width = 40,
                           .heads = 5,
                           .dropout = 0.1,
                           .norm_kind = nn::NormKind::rms,
                           .head = {.position = nn::HeadPosition::rotary}}});
  const optim::MuonGroups groups = optim::muon_groups(model.parameters());
  optim::Muon optimizer(groups.matrices, groups.others);
  const train::TokenBatches batches(tokens(), 23, 6, 3);
  for (std::int64_t i = 0; i < 20; ++i) {
    optimizer.zero_grad();
    const train::Batch batch = batches.at(i);
    model.loss(batch.x, batch.y).backward();
    optimizer.step({.clip_norm = 1});
  }
  std::string lines;
  for (const nn::NamedTensor& each : model.parameters())
    lines += each.name + " " + train::hash_of({each}) + "\n";
  return lines;
}

}  // namespace

TEST_CASE("a portable run has the same weights on every machine", "[kernel]") {
  const BitsScope portable(Bits::portable);
  check_golden("portable_run.txt", weights_of_run());
}

}  // namespace gradus::testing::test_bits
