// Shards with unequal random numbers, counts and stops; cuts of parameters against plain
// arithmetic.
#include "gradus/base/random.h"
#include "gradus/nn/module.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/ops/ops.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/train/distributed/shards.h"
#include "gradus/train/distributed/threads.h"

namespace gradus::testing {
namespace {

using distributed::Transport;

struct Line : nn::Layer<Line> {
  Tensor w = nn::parameter(tensor({1.0, 2.0}, Dtype::f64));
  nn::Members members() override { return {{"w", w}}; }
  Tensor forward(double x) const { return sum(w * x); }
};

/// What each of two processes, with a shard each, makes of such losses.
std::string gradients_of(const std::function<BatchLoss(const Line&, std::int64_t)>& loss) {
  return outcome([&] {
    std::string text;
    distributed::run_threads(2, [&](Transport& t) {
      Line net;
      optim::SGD optimizer(net.parameters());
      distributed::Shards shards(net, optimizer, t, 2);
      bool stop = false;
      const double mean = shards.gradients(
          0, [&](std::int64_t i) { return loss(net, i); }, stop);
      if (t.rank() == 0) text = str_cat(mean);
    });
    return text;
  });
}

/// Where `size` processes cut tensors of these lengths: at the chunk of 1024 that is nearest to
/// equal parts, or at a tensor's end.
std::vector<std::int64_t> cuts_of(const std::vector<std::int64_t>& lengths, std::int64_t size) {
  std::int64_t all = 0;
  for (const std::int64_t n : lengths) all += n;
  std::vector<std::int64_t> cuts = {0};
  for (std::int64_t r = 1; r < size; ++r) {
    const std::int64_t target = all * r / size;
    std::int64_t begin = 0, best = 0;
    for (const std::int64_t n : lengths) {
      if (begin <= target && target < begin + n) {
        const std::int64_t down = (target - begin) / 1024 * 1024, up = down + 1024;
        const bool nearer_up = up - (target - begin) <= (target - begin) - down;
        best = begin + std::min(n, nearer_up ? up : down);
      }
      begin += n;
    }
    cuts.push_back(best);
  }
  cuts.push_back(all);
  return cuts;
}

}  // namespace

TEST_CASE("random numbers continue after the shard that drew most") {
  for (const int size : {1, 2})
    for (const std::int64_t more : {0, 1})  // this shard draws five, the other two
      distributed::run_threads(size, [&](Transport& t) {
        Line net;
        optim::SGD optimizer(net.parameters());
        distributed::Shards shards(net, optimizer, t, 2);
        generator().restore(3, 10);
        bool stop = false;
        shards.gradients(
            0,
            [&](std::int64_t i) {
              for (int k = 0; k < (i == more ? 5 : 2); ++k) generator().next();
              return BatchLoss(net(1));
            },
            stop);
        require<Error>(generator().position() == 15, "at ", generator().position());
      });
}

TEST_CASE("shard counts must not be negative or all 0") {
  const auto of_count = [](std::int64_t first, std::int64_t second) {
    const std::string text = gradients_of([=](const Line& net, std::int64_t i) {
      const std::int64_t count = i == 0 ? first : second;
      return BatchLoss(count == 0 ? full({}, INFINITY, Dtype::f64) : net(i == 0 ? 1 : 2), count);
    });
    const std::size_t at = text.find("shards: ");
    return at == std::string::npos ? text : text.substr(at);
  };
  CHECK(of_count(1, 0) == "3");
  CHECK(of_count(0, 1) == "6");
  CHECK(of_count(3, 1) == "3.75");
  CHECK(of_count(-1, 1) == "shards: a loss of -1 tokens");
  // one of the two alone: of two processes that fail at once either may be the one that is heard
  CHECK(of_count(1, -5) == "shards: a loss of -5 tokens");
  CHECK(of_count(0, 0) == "shards: the losses of all 2 shards are of 0 tokens");
}

TEST_CASE("a stop request on any process stops all") {
  for (const int size : {1, 2, 3})
    for (int rank = -1; rank < size; ++rank)
      distributed::run_threads(size, [&](Transport& t) {
        Line net;
        optim::SGD optimizer(net.parameters());
        distributed::Shards shards(net, optimizer, t, 3);
        bool stop = t.rank() == rank;
        shards.gradients(
            0, [&](std::int64_t) { return BatchLoss(net(1)); }, stop);
        require<Error>(stop == (rank >= 0), "asked was ", rank, " of ", size);
      });
}

TEST_CASE("gradients that were computed twice count once") {
  for (const int size : {1, 2})
    distributed::run_threads(size, [&](Transport& t) {
      Line net;
      optim::SGD optimizer(net.parameters(), {.lr = 1});
      distributed::Shards shards(net, optimizer, t, 2);
      bool stop = false;
      for (const double x : {7.0, 0.25})
        shards.gradients(
            0, [&](std::int64_t) { return BatchLoss(net(x)); }, stop);
      shards.update({}, 0);
      require<Error>(net.w.detach().to_vector<double>() == std::vector<double>{0.75, 1.75}, "w");
    });
}

TEST_CASE("parameters are cut at chunk boundaries within their ends") {
  const std::vector<std::vector<std::int64_t>> all = {
      {1100, 1100}, {1900, 1300}, {3072}, {600, 400}, {1536, 1536, 1536}, {5000, 1, 1, 3000}};
  for (const std::vector<std::int64_t>& lengths : all)
    for (int size = 1; size <= 5; ++size) {
      CAPTURE(lengths, size);
      const std::vector<std::int64_t> expected = cuts_of(lengths, size);
      distributed::run_threads(size, [&](Transport& t) {
        std::vector<nn::NamedTensor> parameters;
        for (const std::int64_t n : lengths)
          parameters.push_back({str_cat("p", parameters.size()), nn::parameter(ones({n}))});
        optim::SGD optimizer(parameters, {.lr = 1});
        optimizer.shard(t);
        require<Error>(optimizer.cuts() == expected, "other cuts");
        const std::int64_t begin = optimizer.part_begin(), end = optimizer.part_end();
        const optim::FlatGradient gradient{ones({end - begin}),
                                           std::vector<char>(lengths.size(), 1)};
        optimizer.step({.gradient = &gradient});
        std::int64_t i = 0;
        for (const nn::NamedTensor& each : parameters)
          for (const float x : each.tensor.detach().to_vector<float>()) {
            require<Error>(x == (begin <= i && i < end ? 0 : 1), "number ", i);
            ++i;
          }
      });
    }
}

TEST_CASE("a sharded optimizer loads its part of a state with any strides") {
  distributed::run_threads(2, [](Transport& t) {
    const Tensor rows = reshape(arange(0, 3000), {1500, 2}).to(Dtype::f32);
    const Tensor columns = transpose(transpose(rows, 0, 1).clone(), 0, 1);  // the same numbers
    optim::SGD optimizer({{"w", nn::parameter(zeros({1500, 2}))}}, {.momentum = 0.5});
    optimizer.shard(t);
    nn::StateDict state = {{"step", full({}, 1, Dtype::i64)}, {"velocity.w", columns}};
    optimizer.load_state_dict(state);
    const nn::StateDict now = optimizer.state_dict();
    if (t.rank() == 0)
      require<Error>(now.at("velocity.w").to_vector<float>() == rows.to_vector<float>(), "order");
  });
}

}  // namespace gradus::testing
