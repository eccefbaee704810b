// MPI transport between processes and machines, in the component gradus::mpi. Built if MPI is
// installed.
//
//   int main(int argc, char** argv) {
//     gradus::distributed::Mpi transport;            // before anything that may end the program
//     … train::Trainer trainer(…, {.shards = 8, .transport = &transport}) …
//   }
//   mpirun -np 4 --bind-to none ./program
#pragma once

#include <memory>

#include "gradus/train/distributed/faults/side_channel.h"

namespace gradus::distributed {

/// True if mpirun, srun or another MPI launcher started this process.
bool started_by_mpi();

/// A transport that, unlike MPI, detects dead processes: each process reports to rank 0 multiple
/// times per second. If a process ends, or is silent for 5 seconds (GRADUS_SILENCE=SECONDS; 0: no
/// limit), the others print its describe() and exit with code 3. All calls must come from one
/// thread.
class Mpi final : public Transport {
 public:
  /// Calls MPI_Init and checks that all processes run the same program.
  Mpi();
  /// Waits for all processes and calls MPI_Finalize. During stack unwinding, aborts all processes.
  ~Mpi() override;
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  /// Prints the line and ends all processes. Ranks above 0 wait half a second, because rank 0
  /// reports common errors.
  [[noreturn]] void abort(const std::string& why) override;

 private:
  void exchange_others(const std::vector<ConstBytes>& out, const std::vector<Bytes>& in) override;
  int rank_ = 0, size_ = 1;
  std::unique_ptr<SideChannel> side_;  // null with a single process
};

}  // namespace gradus::distributed
