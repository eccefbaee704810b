// A sharded run under mpirun, with an optional fault (tests/mpi/run.py).
//
//   program DIRECTORY [resume] [FAULT RANK STEP]     FAULT: die, stop, throw, diverge
//
// Rank 0 prints the result.
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "gradus/engine/base/num_threads.h"
#include "gradus/nn/module.h"
#include "gradus/tests/train/distributed/runs.h"
#include "gradus/train/distributed/mpi/mpi.h"

namespace gradus::testing {
namespace {

struct Fault {
  std::string kind;
  int rank;
  std::int64_t step;
};

void befall(const Fault& fault, nn::Module& model) {
  if (fault.kind == "die") std::raise(SIGKILL);
  if (fault.kind == "stop") std::raise(SIGSTOP);
  if (fault.kind == "throw") throw Error("thrown by the test");
  if (fault.kind != "diverge") return;
  Tensor weight = model.parameters()[2].tensor;
  weight.mutable_data<float>()[5] += 1e-3f;
}

int run(const std::vector<std::string>& arguments) {
  set_num_threads(1);
  distributed::Mpi transport;
  ShardedRun how;
  how.directory = arguments.at(0);
  std::size_t at = 1;
  if (arguments.size() > at && arguments[at] == "resume") how.resume = true, ++at;
  Fault fault{"none", -1, -1};
  if (arguments.size() > at)
    fault = {arguments[at], std::stoi(arguments.at(at + 1)), std::stoll(arguments.at(at + 2))};
  if (fault.kind == "diverge") how.steps = 60;  // processes are compared at step 50
  how.before = [&](nn::Module& model, std::int64_t i) {
    if (transport.rank() == fault.rank && i / how.shards == fault.step) befall(fault, model);
  };
  std::fputs(run_sharded(how, transport).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace gradus::testing

int main(int argc, char** argv) {
  return gradus::testing::run(std::vector<std::string>(argv + 1, argv + argc));
}
