// require_same over tensors: quick cases with one process and with two.
#include "gradus/ops/create.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/train/distributed/faults/agreement.h"
#include "gradus/train/distributed/threads.h"

namespace gradus::testing {
namespace {

using distributed::Transport;

/// What ends `size` threads, where rank 1 has another number at `place` of three tensors.
std::string differing(int size, std::int64_t place) {
  const std::string said = outcome([&] {
    distributed::run_threads(size, [&](Transport& transport) {
      std::vector<nn::NamedTensor> all = {{"x", zeros({3})}, {"y", ones({2})}, {"z", ones({9})}};
      if (transport.rank() == 1)
        for (nn::NamedTensor& each : all) {
          if (0 <= place && place < each.tensor.numel()) each.tensor[place].fill_(7);
          place -= each.tensor.numel();
        }
      distributed::require_same(transport, all);
    });
    return "alike";
  });
  const std::size_t at = said.find("starting: ");
  return at == std::string::npos
             ? said
             : said.substr(0, said.find(" on host")) + ": " + said.substr(at + 10);
}

}  // namespace

TEST_CASE("require_same detects a difference in any element of any tensor") {
  CHECK(differing(1, -1) == "alike");
  CHECK(differing(2, -1) == "alike");
  for (std::int64_t place = 0; place < 14; ++place) {
    CAPTURE(place);
    CHECK(differing(2, place) == str_cat("gradus::Error: rank 1: has other numbers in ",
                                         place < 3   ? "x"
                                         : place < 5 ? "y"
                                                     : "z",
                                         " than rank 0: the processes have diverged"));
  }
}

}  // namespace gradus::testing
