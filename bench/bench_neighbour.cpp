// Times steps while another process uses one core: ./bench.sh neighbour --config cpu
//
// Interleaves steps with and without a busy process. Prints both medians and their ratio. The
// target on two cores is at most 2.5.

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "gradus/engine/base/parallel.h"
#include "program.h"
#include "trainer.h"

namespace gradus::bench {
namespace {

/// RAII guard: a child process that keeps a core busy.
class Burner {
 public:
  Burner() : child_(::fork()) {
    if (child_ == 0)
      for (volatile unsigned long spins = 0;;) spins = spins + 1;
  }
  ~Burner() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  Burner(const Burner&) = delete;
  Burner& operator=(const Burner&) = delete;

 private:
  pid_t child_;
};

void run(const std::string& config, int rounds, int steps) {
  Trainer trainer(config, 0);
  trainer.time_steps(3);
  std::vector<double> quiet, beside;
  for (int round = 0; round < rounds; ++round) {
    for (const double ms : trainer.time_steps(steps)) quiet.push_back(ms);
    const Burner burner;
    for (const double ms : trainer.time_steps(steps)) beside.push_back(ms);
  }
  std::printf(
      "{\"config\": \"%s\", \"threads\": %d, \"quiet_ms\": %.3f, \"beside_burner_ms\": %.3f, "
      "\"ratio\": %.2f}\n",
      config.c_str(), num_threads(), median(quiet), median(beside), median(beside) / median(quiet));
}

}  // namespace
}  // namespace gradus::bench

int main(int argc, char** argv) {
  std::string config = "cpu";
  int rounds = 7, steps = 20;
  CLI::App app("Times training steps while another process keeps one core busy; prints JSON");
  app.add_option("--config", config, "model size: toy, cpu, baby12, baby64, gpt2 or long")
      ->capture_default_str();
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--steps", steps, "steps per round")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  return gradus::bench::program(app, "bench_neighbour", argc, argv,
                                [&] { gradus::bench::run(config, rounds, steps); });
}
