// Agreement checks, the simulated network, and the bytes that each step of shards sends.
#include <unistd.h>

#include "gradus/engine/strided.h"
#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/train/distributed/slow_end.h"
#include "gradus/train/distributed/faults/agreement.h"
#include "gradus/train/distributed/parts.h"
#include "gradus/train/distributed/shards.h"
#include "gradus/train/distributed/threads.h"

namespace gradus::testing {
namespace {

using distributed::Transport;

/// What ends `size` threads, the last of them slowly; without places and hosts. "": nothing does.
std::string end_of(int size, const std::function<void(Transport&)>& work) {
  const std::string end = outcome([&] {
    distributed::run_threads(size, [&](Transport& t) {
      SlowEnd late(t, t.rank() == size - 1 ? 0.02 : 0);
      work(late);
    });
    return std::string();
  });
  const std::size_t host = end.find(" on host "), what = end.find("starting");
  return end.empty() ? end : end.substr(0, host) + end.substr(what + 8);
}

/// Seconds that rank 0 waits in one exchange of sizes[from][to] bytes, of a thousand a millisecond.
double waited(const std::vector<std::vector<std::size_t>>& sizes) {
  double seconds = 0;
  const int size = static_cast<int>(sizes.size());
  distributed::run_threads(size,
                           [&](Transport& t) {
                             const auto own = static_cast<std::size_t>(t.rank());
                             std::vector<std::vector<std::byte>> from(sizes.size()),
                                 to(sizes.size());
                             std::vector<distributed::ConstBytes> out;
                             std::vector<distributed::Bytes> in;
                             for (std::size_t r = 0; r < sizes.size(); ++r) {
                               from[r].resize(sizes[own][r]), to[r].resize(sizes[r][own]);
                               out.emplace_back(from[r]), in.emplace_back(to[r]);
                             }
                             t.barrier();
                             const double before = t.seconds_waited();
                             t.exchange(out, in);
                             if (own == 0) seconds = t.seconds_waited() - before;
                           },
                           {.bytes_per_second = 1e6});
  return seconds;
}

struct Biased : nn::Layer<Biased> {
  nn::Linear up{3, 5};
  Tensor kept = zeros({2});
  nn::Members members() override { return {{"up", up}, {"kept", nn::buffer(kept)}}; }
  Tensor forward(const Tensor& x) const { return mean(up(x)); }
};

}  // namespace

TEST_CASE("the process that differs ends all and reports the first differing line") {
  const auto ends = [](const std::string& a, const std::string& b) {
    return end_of(
        2, [&](Transport& t) { distributed::require_same(t, t.rank() == 0 ? a : b, "run"); });
  };
  const std::string begin = "gradus::Error: rank 1: has another run than rank 0: ";
  CHECK(ends("a", "a").empty());
  CHECK(ends("a\nb", "a\nc") == begin + "c, not b");
  CHECK(ends("a\nb", "a") == begin + ", not b");
  CHECK(ends("a", "a\nb") == begin + "b, not ");
  CHECK(ends("a\n\nb", "a") == begin + ", not b");
  CHECK(ends("a", "a\n\nb") == begin + "b, not ");
  CHECK(ends("a\n", "a") == begin + ", not ");
}

TEST_CASE("tensors are compared without their neighbors in memory") {
  CHECK(end_of(2, [](Transport& t) {
          Tensor all = zeros({3, 2});
          all[0].fill_(t.rank());
          all[2].fill_(t.rank());
          distributed::require_same(t, {{"middle", all[1]}});
        }).empty());
}

TEST_CASE("a simulated network is as slow as the busiest process") {
  CHECK(waited({{0, 0, 0}, {3000, 0, 0}, {3000, 0, 0}}) >= 0.006);
  CHECK(waited({{0, 3000, 3000}, {0, 0, 0}, {0, 0, 0}}) >= 0.006);
  CHECK(waited({{0, 3000, 1500}, {0, 0, 0}, {0, 0, 0}}) >= 0.0045);
  CHECK(waited({{0, 0, 0}, {3000, 0, 0}, {1500, 0, 0}}) >= 0.0045);
}

TEST_CASE("part_of and bytes_of respect the offset of a view") {
  const Tensor all = tensor(std::vector<double>{0, 1, 2, 3, 4, 5}), x = slice(all, 0, 2, 6);
  CHECK(optim::part_of(x, 1, 3).to_vector<double>() == std::vector<double>{3, 4});
  CHECK(optim::bytes_of(x, 1, 3).data() ==
        reinterpret_cast<const std::byte*>(all.data<double>() + 3));
  CHECK(optim::bytes_of(x, 1, 3).size() == 16);
}

TEST_CASE("host_name returns the name of the system") {
  char name[300] = {};
  REQUIRE(::gethostname(name, sizeof name) == 0);
  CHECK(distributed::host_name() == name);
}

TEST_CASE("parameters are compared at the first step and every fiftieth") {
  distributed::run_threads(2, [](Transport& t) {
    Biased net;
    optim::SGD optimizer(net.parameters());
    distributed::Shards shards(net, optimizer, t, 2);
    bool stop = false;
    const auto sent = [&](std::int64_t step) {
      const std::int64_t before = t.bytes_sent();
      shards.gradients(
          step,
          [&](std::int64_t) {
            return BatchLoss(net(ones({1, 3})));
          },
          stop);
      return t.bytes_sent() - before;
    };
    constexpr std::int64_t kSums = 16;  // of two parameters
    const std::int64_t first = sent(3), plain = sent(4);
    require<Error>(first == plain + kSums, "the first: ", first, " and ", plain);
    for (const std::int64_t step : {0, 1, 25, 49, 50, 51, 99, 100, 101})
      require<Error>(sent(step) == plain + (step % 50 == 0 ? kSums : 0), "at ", step);
  });
}

TEST_CASE("a step sends the bytes of bytes_a_step for any number of shards") {
  for (const int size : {2, 3})
    for (std::int64_t count = size; count < 9; ++count)
      distributed::run_threads(size, [&](Transport& t) {
        seed(1);
        Biased net;
        optim::SGD optimizer(net.parameters());
        distributed::Shards shards(net, optimizer, t, count);
        bool stop = false;
        const auto step = [&](double x) {
          shards.gradients(
              1,
              [&](std::int64_t) {
                return BatchLoss(net(full({1, 3}, x)));
              },
              stop);
          const std::int64_t before = t.bytes_sent();
          shards.update({.only_finite = true}, 0);
          return t.bytes_sent() - before;
        };
        const std::int64_t before = t.bytes_sent(), alone = step(1), all = t.bytes_sent() - before;
        require<Error>(all - 16 * (size - 1) == shards.bytes_a_step(), all, " of ", count);
        const std::int64_t own = optimizer.part_end() - optimizer.part_begin() +
                                 (t.rank() + 1 == size ? net.kept.numel() : 0);
        const std::int64_t refused = step(INFINITY);
        require<Error>(alone - refused == 4 * own * (size - 1), alone, " and ", refused);
        require<Error>(step(0) == alone, "a step whose gradient is 0 is shared");
      });
}

}  // namespace gradus::testing
