// MPI transport between processes on one or several machines: component gradus::mpi, built if MPI
// is installed.
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

/// MPI does not report processes that die. So each process reports to rank 0 several times per
/// second. If one ends unexpectedly or is silent for 5 seconds (GRADUS_SILENCE=SECONDS; 0: no
/// limit), all others print its describe() and exit with code 3. All calls must come from one
/// thread.
class Mpi final : public Transport {
 public:
  /// Calls MPI_Init. Checks that all processes run the same program, by checksum.
  Mpi();
  /// Waits for all others and calls MPI_Finalize. During stack unwinding, aborts all instead.
  ~Mpi() override;
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  /// Prints the line and ends all. Ranks above 0 wait half a second, because rank 0 reports what
  /// happens to all.
  [[noreturn]] void abort(const std::string& why) override;

 private:
  void exchange_others(const std::vector<ConstBytes>& out, const std::vector<Bytes>& in) override;
  int rank_ = 0, size_ = 1;
  std::unique_ptr<SideChannel> side_;  // null: one process
};

}  // namespace gradus::distributed
