#include "gradus/train/distributed/mpi/mpi.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>

#include "gradus/engine/base/error.h"

namespace gradus::distributed {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 30;  // bytes per message; MPI counts with int
constexpr double kSpin = 2e-3;                       // seconds of spinning before sleeping
constexpr double kTell = 60;                         // seconds between reports of a wait

}  // namespace

bool started_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(name)) return true;
  return false;
}

Mpi::Mpi() {
  int given = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
  require<Error>(given >= MPI_THREAD_FUNNELED,
                 "this MPI was built without thread support. Install one with it.");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  if (size_ == 1) return;
  side_ = std::make_unique<SideChannel>(*this);
  side_->require_same_program();  // abort() works from this line on
}

Mpi::~Mpi() {
  if (std::uncaught_exceptions() > 0 && size_ > 1) abort("ended with an error");
  note("waiting for the other processes to end");
  barrier();
  side_.reset();
  MPI_Finalize();
}

void Mpi::abort(const std::string& why) {
  if (!side_) fail<Error>(why);
  if (rank_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  side_->abort(describe() + ": " + why);
}

/// Polls, because MPI only makes progress inside its calls. Yields the core while waiting.
void Mpi::exchange_others(const std::vector<ConstBytes>& out, const std::vector<Bytes>& in) {
  std::vector<MPI_Request> requests;
  const auto each_message = [&](const auto& blocks, auto&& begin) {
    for (int r = 0; r < size_; ++r)
      for (auto rest = blocks[static_cast<std::size_t>(r)]; r != rank_ && !rest.empty();
           rest = rest.subspan(std::min(kMost, rest.size())))
        begin(rest.data(), static_cast<int>(std::min(kMost, rest.size())), r);
  };
  each_message(in, [&](std::byte* to, int bytes, int r) {
    MPI_Irecv(to, bytes, MPI_BYTE, r, 0, MPI_COMM_WORLD, &requests.emplace_back());
  });
  each_message(out, [&](const std::byte* from, int bytes, int r) {
    MPI_Isend(from, bytes, MPI_BYTE, r, 0, MPI_COMM_WORLD, &requests.emplace_back());
  });
  const auto begin = std::chrono::steady_clock::now();
  double told = 0;
  for (int done = 0; !done;) {
    const int code =
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) abort(str_cat("MPI reports error ", code));
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
    if (waited.count() < kSpin)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (waited.count() < told + kTell) continue;
    told += kTell;
    if (side_) side_->say(str_cat(describe(), ": has waited for ", told, " s"));
  }
}

}  // namespace gradus::distributed
