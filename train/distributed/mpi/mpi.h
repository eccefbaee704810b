// A transport between processes that mpirun started, on one machine or several. It is a component
// of its own, gradus::mpi, which is built if MPI is installed.
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

/// Returns whether mpirun (or srun, or another launcher of MPI) started this process.
bool started_by_mpi();

/// MPI does not report processes that die. So each process has a connection to rank 0 over which it
/// reports several times per second that it is alive, and what it is doing. If one ends without
/// notice, or is silent for 5 seconds (GRADUS_SILENCE=SECONDS changes that; 0: no limit, for
/// debuggers), all others print one line with its describe() and end with exit code 3. All calls
/// must come from one thread.
class Mpi final : public Transport {
 public:
  /// Calls MPI_Init. All processes must run the same program: a checksum of its file is compared.
  Mpi();
  /// Waits for all others and calls MPI_Finalize. During stack unwinding, aborts all instead.
  ~Mpi() override;
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  /// Prints the line and ends all. Ranks above 0 first wait for half a second: rank 0 reports what
  /// happens to all of them.
  [[noreturn]] void abort(const std::string& why) override;

 private:
  void exchange_others(const std::vector<ConstBytes>& out, const std::vector<Bytes>& in) override;
  int rank_ = 0, size_ = 1;
  std::unique_ptr<SideChannel> side_;  // null: alone
};

}  // namespace gradus::distributed
