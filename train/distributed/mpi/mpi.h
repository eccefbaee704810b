// Processes that mpirun started, on one machine or several: component gradus::mpi, which is built
// where MPI is installed and which nothing links that does not ask for it.
//
//   int main(int argc, char** argv) {
//     gradus::distributed::Mpi transport;            // before anything that may end the program
//     … Trainer trainer(…, {.shards = 8, .transport = &transport}) …
//   }
//   mpirun -np 4 --bind-to none ./program
#pragma once

#include <memory>

#include "gradus/train/distributed/faults/side_channel.h"

namespace gradus::distributed {

/// Did mpirun (or srun, or another launcher that MPI knows) start this process?
bool started_by_mpi();

/// Beside MPI, which cannot tell, each process has a connection to rank 0 by which it says several
/// times a second that it lives, and at what. One that ends without a word, or is silent for 5
/// seconds (GRADUS_SILENCE=SECONDS: another time; 0: for ever, as under a debugger), ends all
/// others: after one line on stderr, its describe(), by exit code 3. Calls come from one thread.
class Mpi final : public Transport {
 public:
  /// MPI_Init. All processes must have the same program; its file's checksum is compared.
  Mpi();
  /// Waits for all others, then MPI_Finalize; while an exception goes by, ends all.
  ~Mpi() override;
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  /// Writes the line and ends all. Ranks above 0 wait for half a second before, since what befalls
  /// all of them is for rank 0 to say.
  [[noreturn]] void abort(const std::string& why) override;

 private:
  void exchange_others(const std::vector<ConstBytes>& out, const std::vector<Bytes>& in) override;
  int rank_ = 0, size_ = 1;
  std::unique_ptr<SideChannel> side_;  // null: alone
};

}  // namespace gradus::distributed
