#include "processes.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "gradus/engine/base/error.h"
#ifdef GRADUS_HAS_MPI
#include "gradus/train/distributed/mpi/mpi.h"
#endif

namespace gradus::examples {
namespace {

std::unique_ptr<distributed::Transport> started_by_launcher() {
#ifdef GRADUS_HAS_MPI
  if (distributed::started_by_mpi()) return std::make_unique<distributed::Mpi>();
#else
  require<Error>(
      !std::getenv("OMPI_COMM_WORLD_SIZE") && !std::getenv("PMI_SIZE"),
      "started by mpirun, but built without MPI: install libopenmpi-dev and build again");
#endif
  return nullptr;
}

std::unique_ptr<distributed::Transport>& launched() {
  static auto transport = [] {
    auto made = started_by_launcher();
    if (made && made->rank() > 0)
      for (std::FILE* each : {stdout, stderr})
        static_cast<void>(!std::freopen("/dev/null", "w", each));
    return made;
  }();
  return transport;
}

}  // namespace

distributed::Transport& processes() { return launched() ? *launched() : distributed::alone(); }

void leave_processes() { launched().reset(); }

}  // namespace gradus::examples
