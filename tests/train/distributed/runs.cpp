#include "gradus/tests/train/distributed/runs.h"

#include <csignal>

#include "gradus/io/checkpoint.h"
#include "gradus/nn/embedding.h"
#include "gradus/nn/linear.h"
#include "gradus/nn/norm.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/train/data.h"
#include "gradus/train/distributed/faults/agreement.h"
#include "gradus/train/optim/muon.h"

namespace gradus::testing {
namespace {

constexpr std::int64_t kVocab = 40, kWidth = 48;

/// A network of 17,000 parameters. No tensor size is a multiple of a number of processes.
struct Net : nn::Layer<Net> {
  nn::Embedding embedding{kVocab, kWidth};
  nn::Linear up{kWidth, 150}, down{150, kWidth}, head{kWidth, kVocab};
  nn::BatchNorm1d norm{kWidth};
  nn::Linear rare{3, 3};  // rarely part of the loss
  nn::Members members() override {
    return {{"embedding", embedding}, {"up", up},     {"down", down},
            {"head", head},           {"norm", norm}, {"rare", rare}};
  }
  Tensor forward(const Tensor& ids) const {  // [N] → [N, V]
    const Tensor x = embedding(ids);
    return head(norm(x + down(dropout(relu(up(x)), 0.3, training()))));
  }
};

/// 50 sequences in batches of 4. The last batch has 2 sequences.
struct Ragged {
  Ragged() {
    const RandomStream random{11, 0, 0};
    std::vector<std::int64_t> lengths;
    for (std::int64_t s = 0; s < 50; ++s) {
      std::vector<std::int64_t> one(static_cast<std::size_t>(2 + random.below(s, 11)));
      for (std::size_t i = 0; i < one.size(); ++i)
        one[i] = (s + static_cast<std::int64_t>(i * i)) % kVocab;
      lengths.push_back(std::ssize(one));
      sequences.push_back(std::move(one));
    }
    buckets.emplace(lengths, 4, 7);
  }
  std::vector<std::vector<std::int64_t>> sequences;
  std::optional<train::LengthBuckets> buckets;
};

train::BatchLoss loss_of(const Net& net, const Ragged& data, std::int64_t i) {
  std::vector<std::int64_t> x, y;
  for (const std::int64_t s : data.buckets->at(i)) {
    const std::vector<std::int64_t>& one = data.sequences[static_cast<std::size_t>(s)];
    x.insert(x.end(), one.begin(), one.end() - 1);
    y.insert(y.end(), one.begin() + 1, one.end());
  }
  const std::int64_t n = std::ssize(x);
  Tensor loss = cross_entropy(net(tensor(x)), tensor(y));
  if (i % 11 == 3) loss = loss + mean(net.rare(ones({2, 3})));
  return {loss, n};
}

std::unique_ptr<optim::Optimizer> optimizer_for(const std::string& name, Net& net) {
  const auto all = net.parameters();
  if (name == "sgd") return std::make_unique<optim::SGD>(all, optim::SGDOptions{.momentum = 0.9});
  if (name == "lion") return std::make_unique<optim::Lion>(all);
  if (name == "adamw")
    return std::make_unique<optim::AdamW>(optim::no_decay_on_1d(all, 0.1),
                                          optim::AdamWOptions{.lr = 1e-2});
  optim::MuonGroups groups = optim::muon_groups(all);
  return std::make_unique<optim::Muon>(groups.matrices, groups.others);
}

std::string result_of(const train::RunFiles& files) {
  std::string all = read_bytes(files.metrics());
  for (const auto& [name, tensor] : io::load_checkpoint(files.checkpoint()).tensors) {
    const Tensor x = tensor.to(Dtype::f64);
    const std::vector<double> numbers = x.to_vector<double>();
    all += str_cat(name, " ", distributed::checksum(std::as_bytes(std::span(numbers))), "\n");
  }
  return all;
}

}  // namespace

std::string run_sharded(const ShardedRun& how, distributed::Transport& transport) {
  seed(5);
  Net net;
  const Ragged data;
  const auto optimizer = optimizer_for(how.optimizer, net);
  train::TrainOptions options;
  options.directory = how.directory, options.steps = how.steps, options.eval_every = 7;
  options.shards = how.shards, options.transport = &transport;
  options.patience = how.worsens ? 1 : 0;
  volatile std::sig_atomic_t stop = 0;
  options.stop = &stop;
  options.clip_norm = how.clip_norm, options.clip_value = how.clip_value;
  train::Trainer trainer(net, *optimizer, optim::warmup_cosine(3, 20), options);
  how.resume ? trainer.resume() : trainer.start();
  trainer.run(
      [&](std::int64_t i) {
        if (how.before) how.before(net, i);
        stop = transport.rank() == how.stop_rank && trainer.step() == how.stop_step - 1;
        return loss_of(net, data, i);
      },
      [&] {
        const double loss = loss_of(net, data, 0).mean.item();
        return train::Metrics{{"held_out_loss", how.worsens ? double(trainer.step()) : loss}};
      });
  return transport.rank() == 0 ? result_of(trainer.files()) : "";
}

}  // namespace gradus::testing
