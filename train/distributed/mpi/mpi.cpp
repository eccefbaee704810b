// The one file that knows MPI: its C interface, called by one thread.
#include "gradus/train/distributed/mpi/mpi.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <thread>

#include "gradus/base/error.h"
#include "gradus/train/distributed/mpi/side_channel.h"

namespace gradus::distributed {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 30;  // bytes of one message: MPI counts with int
constexpr double kSpin = 2e-3;                       // seconds before a wait begins to sleep
constexpr double kTell = 60;                         // seconds of a wait until it is told of

double silence_seconds() {
  const char* asked = std::getenv("GRADUS_SILENCE");
  return asked ? std::atof(asked) : 5;
}

std::string own_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return text("checksum ", checksum(bytes_of(all.data(), std::ssize(all))));
}

}  // namespace

bool started_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(name)) return true;
  return false;
}

struct Mpi::State {
  int rank = 0, size = 1;
  int error_output = -1;  // the process's own, even where stderr leads elsewhere later
  std::unique_ptr<SideChannel> side;

  void say(const std::string& line) const {
    const std::string all = "gradus: " + line + "\n";
    static_cast<void>(!::write(error_output, all.data(), all.size()));
  }
};

Mpi::Mpi() : state_(std::make_unique<State>()) {
  int given = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
  require<Error>(given >= MPI_THREAD_FUNNELED, "this MPI was built without threads");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &state_->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &state_->size);
  state_->error_output = ::dup(STDERR_FILENO);
  if (size() == 1) return;
  state_->side = std::make_unique<SideChannel>(SideChannel::Options{
      rank(), size(), silence_seconds(), all_gather(host_name()), [this] { return describe(); },
      [this](const std::string& own) { return all_gather(own).front(); },
      [this](const std::string& line) { state_->say(line); }});
  require_same(own_program(), "program");
}

Mpi::~Mpi() {
  if (std::uncaught_exceptions() > 0 && size() > 1) abort("is ended by an error");
  note("waiting for the end of others");
  barrier();
  state_->side.reset();
  MPI_Finalize();
}

int Mpi::rank() const { return state_->rank; }
int Mpi::size() const { return state_->size; }

void Mpi::abort(const std::string& why) {
  if (size() == 1) fail<Error>(why);
  if (rank() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  state_->side->end_all(describe() + ": " + why);
}

void Mpi::do_exchange(const std::vector<ConstBytes>& out, const std::vector<Bytes>& in) {
  std::vector<MPI_Request> requests;
  std::vector<std::size_t> from;  // of the first of them, which receive
  for (std::size_t r = 0; r < in.size(); ++r)
    for (std::size_t i = 0; i < in[r].size() && static_cast<int>(r) != rank(); i += kMost) {
      const Bytes part = in[r].subspan(i, std::min(kMost, in[r].size() - i));
      from.push_back(r);
      MPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE, static_cast<int>(r), 0,
                MPI_COMM_WORLD, &requests.emplace_back());
    }
  for (std::size_t r = 0; r < out.size(); ++r)
    for (std::size_t i = 0; i < out[r].size() && static_cast<int>(r) != rank(); i += kMost) {
      const ConstBytes part = out[r].subspan(i, std::min(kMost, out[r].size() - i));
      MPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, static_cast<int>(r), 0,
                MPI_COMM_WORLD, &requests.emplace_back());
    }
  const auto own = static_cast<std::size_t>(rank());
  std::ranges::copy(out[own], in[own].begin());
  const auto begin = std::chrono::steady_clock::now();
  double told = 0;
  for (int done = 0; !done;) {
    const int code =
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) abort(text("MPI reports its error ", code));
    const double waited =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (waited < kSpin)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (waited < told + kTell) continue;
    told += kTell;
    std::string whom;
    for (std::size_t i = 0; i < from.size(); ++i)
      if (requests[i] != MPI_REQUEST_NULL) whom += text(" ", from[i]);
    state_->say(text(describe(), ": has waited for ", told, " s for ranks", whom));
  }
}

}  // namespace gradus::distributed
