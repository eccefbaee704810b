#include "gradus/nn/linear.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/train/distributed/runs.h"
#include "gradus/train/distributed/faults/agreement.h"
#include "gradus/train/distributed/shards.h"
#include "gradus/train/distributed/threads.h"

namespace gradus::testing::test_faults {
namespace {

using distributed::Transport;

std::string error_of(int size, const std::function<void(Transport&)>& work) {
  return message_of<Error>([&] { distributed::run_threads(size, work); });
}

std::string at(int rank, const std::string& rest) {
  return str_cat("rank ", rank, " on host ", distributed::host_name(), ", at step ", rest);
}

TEST_CASE("a process that throws or exits ends the others that wait for it") {
  CHECK(error_of(3, [](Transport& transport) {
          transport.note_step(7);
          transport.note("at work");
          if (transport.rank() == 1) fail<ValueError>("what it was");
          for (;;) transport.barrier();
        }) == at(1, "7, at work: what it was"));
  CHECK(error_of(3, [](Transport& transport) {
          transport.note("at work");
          if (transport.rank() != 2) transport.barrier();
        }) == at(2, "0, at work: has ended"));
  CHECK(error_of(2, [](Transport& transport) {
          if (transport.rank() == 0) transport.abort("enough");
          transport.barrier();
        }) == at(0, "0, starting: enough"));
  const std::string mismatch = error_of(2, [](Transport& transport) {
    transport.all_gather(std::vector<double>(transport.rank() == 0 ? 1 : 2));
  });
  CHECK(contains(mismatch, " bytes to rank "));
}

TEST_CASE("a text that differs from rank 0's is rejected with the first differing line") {
  const auto differ = [](const std::string& first, const std::string& other) {
    return error_of(3, [&](Transport& transport) {
      require_same(transport, transport.rank() == 2 ? other : first, "run");
    });
  };
  const std::string begin = at(2, "0, starting: has a different run than rank 0: ");
  CHECK(differ("lr: 1\nbatch: 2\n", "lr: 1\nbatch: 3\n") == begin + "batch: 3, not batch: 2");
  CHECK(differ("a\nb", "a") == begin + ", not b");
  CHECK(differ("a", "a\n\nb") == begin + "b, not ");
  CHECK(differ("a\n", "a") == begin + ", not ");
  CHECK(differ("", "a") == begin + "a, not ");
  distributed::run_threads(3, [](Transport& t) { require_same(t, "the same", "run"); });
}

TEST_CASE(
    "a difference in any tensor element is detected, and differences outside views are ignored") {
  for (std::int64_t place = -1; place < 14; ++place) {
    CAPTURE(place);
    const auto work = [&](Transport& transport) {
      const Tensor buffer = full({3, 2}, transport.rank());
      buffer[1].fill_(1);
      std::vector<nn::NamedTensor> all = {{"x", zeros({3})}, {"y", buffer[1]}, {"z", ones({9})}};
      std::int64_t left = place;
      for (nn::NamedTensor& each : all) {
        if (transport.rank() == 1 && 0 <= left && left < each.tensor.numel())
          each.tensor[left].fill_(7);
        left -= each.tensor.numel();
      }
      require_same(transport, all);
    };
    if (place < 0)
      distributed::run_threads(3, work);
    else
      CHECK(error_of(3, work) == at(1, str_cat("0, starting: has different values in ",
                                               place < 3   ? "x"
                                               : place < 5 ? "y"
                                                           : "z",
                                               " than rank 0: the processes have diverged")));
  }
}

TEST_CASE("a checksum depends on each bit and each position") {
  const std::string some = "nineteen characters";
  const std::uint64_t sum = distributed::checksum(as_bytes(some));
  for (std::size_t i = 0; i < some.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = some;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      CHECK(distributed::checksum(as_bytes(other)) != sum);
    }
  CHECK(distributed::checksum(as_bytes("characters nineteen")) != sum);
  CHECK(distributed::checksum({}) == 14695981039346656037u);
}

TEST_CASE("a distributed run ends with the error of the faulty process", "[once]") {
  const Folder here;
  const auto run = [&](const std::string& name, std::int64_t steps,
                       const std::function<void(Transport&, nn::Module&, std::int64_t)>& fault) {
    return error_of(3, [&](Transport& transport) {
      ShardedRun how;
      how.directory = here / name, how.steps = steps;
      how.before = [&](nn::Module& model, std::int64_t i) {
        fault(transport, model, i / how.shards);
      };
      run_sharded(how, transport);
    });
  };
  CHECK(run("throws", 20, [](Transport& transport, nn::Module&, std::int64_t step) {
          if (transport.rank() == 2 && step == 9) fail<ValueError>("the data ended");
        }) == at(2, "9, in the forward and backward pass: the data ended"));
  CHECK(run("diverges", 60,
            [](Transport& transport, nn::Module& model, std::int64_t step) {
              if (transport.rank() != 1 || step != 50) return;
              Tensor(model.parameters()[4].tensor).mutable_data<float>()[0] += 1e-3f;
            }) == at(1,
                     "50, comparing parameters: has different values in down.bias than rank 0: the "
                     "processes have diverged"));
  const std::string nan =
      run("nan", 20, [](Transport& transport, nn::Module& model, std::int64_t step) {
        if (transport.rank() == 1 && step == 4)
          Tensor(model.parameters()[4].tensor).mutable_data<float>()[0] = NAN;
      });
  CHECK(contains(nan, at(1, "4, ")));
  CHECK(contains(nan, "step 5"));
}

TEST_CASE("more processes than shards and mixed types are rejected") {
  const Folder here;
  const std::string few = error_of(3, [&](Transport& transport) {
    ShardedRun how;
    how.directory = here / "few", how.shards = 2;
    run_sharded(how, transport);
  });
  CHECK(contains(few, "3 processes, but 2 shards per step. Each process needs at least one"));
  nn::Linear net(2, 2);
  net.bias = nn::parameter(zeros({2}, Dtype::f64));
  optim::SGD optimizer(net.parameters());
  CHECK_REFUSES(DtypeError, distributed::Shards(net, optimizer, distributed::alone(), 2), "shards",
                "f64", "f32");
}

TEST_CASE("a run stops at the request of one process and resumes with any number of processes",
          "[once]") {
  const Folder here;
  std::string expected;
  ShardedRun how;
  how.directory = here / "whole";
  expected = run_sharded(how, distributed::alone());
  for (const auto& [first, second] : {std::pair(3, 2), {1, 4}, {4, 1}}) {
    CAPTURE(first, second);
    how.directory = here / str_cat(first, "-", second);
    how.resume = false;
    how.stop_rank = first - 1, how.stop_step = 11;
    distributed::run_threads(first, [&](Transport& transport) { run_sharded(how, transport); });
    CHECK(train::read_state({how.directory}).step == (first == 1 ? 11 : 12));
    how.resume = true, how.stop_rank = -1;
    std::string result;
    distributed::run_threads(second, [&](Transport& transport) {
      const std::string own = run_sharded(how, transport);
      if (transport.rank() == 0) result = own;
    });
    CHECK(result == expected);
  }
}

}  // namespace
}  // namespace gradus::testing::test_faults
