// An exchange has two barriers: one after all sends are posted, and one after all are copied.
#include "gradus/train/distributed/threads.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/random.h"

namespace gradus::distributed {
namespace {

struct Room {
  std::mutex mutex;
  std::condition_variable change;
  int arrived = 0;
  std::int64_t meeting = 0;
  std::string failure, ended;  // messages of the first thread, or ""
  std::vector<const std::vector<ConstBytes>*> posted{};

  /// Barrier. Throws Error if a thread never arrives.
  void meet() {
    std::unique_lock lock(mutex);
    const std::int64_t now = meeting;
    if (++arrived == std::ssize(posted)) {
      arrived = 0;
      ++meeting;
      change.notify_all();
    }
    change.wait(lock, [&] { return meeting != now || !failure.empty() || !ended.empty(); });
    if (meeting != now) return;
    if (failure.empty()) failure = ended + ": has ended";
    fail<Error>(failure);
  }

  void leave(std::string& why, const std::string& line) {
    const std::lock_guard lock(mutex);
    if (why.empty()) why = line;
    change.notify_all();
  }
};

class Threads final : public Transport {
 public:
  Threads(Room& room, int rank, Network network) : room_(room), rank_(rank), network_(network) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(room_.posted.size()); }
  [[noreturn]] void abort(const std::string& why) override {
    room_.leave(room_.failure, describe() + ": " + why);
    fail<Error>(room_.failure);
  }

 private:
  void exchange_others(const std::vector<ConstBytes>& out, const std::vector<Bytes>& in) override {
    const auto own = static_cast<std::size_t>(rank_);
    room_.posted[own] = &out;
    room_.meet();
    std::size_t sent = 0, received = 0;
    std::string wrong;  // thrown after the second barrier, because others still read `out`
    for (std::size_t r = 0; r < in.size(); ++r) {
      const ConstBytes from = (*room_.posted[r])[own];
      if (from.size() != in[r].size()) {
        wrong = str_cat("exchange: rank ", r, " sends ", from.size(), " bytes to rank ", rank_,
                        ", which expects ", in[r].size());
      } else if (r != own) {
        std::copy(from.begin(), from.end(), in[r].begin());
        sent += out[r].size();
        received += from.size();
      }
    }
    double seconds = network_.latency_seconds;
    if (network_.bytes_per_second > 0)
      seconds += static_cast<double>(std::max(sent, received)) / network_.bytes_per_second;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    room_.meet();
    require(wrong.empty(), wrong);
  }

  Room& room_;
  int rank_;
  Network network_;
};

}  // namespace

void run_threads(int size, const std::function<void(Transport&)>& work, Network network) {
  Room room;
  room.posted.resize(static_cast<std::size_t>(size));
  const Generator before = generator();
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      Generator own = before;
      const GeneratorScope scope(own);
      Threads transport(room, r, network);
      try {
        work(transport);
        room.leave(room.ended, transport.describe());
      } catch (const std::exception& error) {
        room.leave(room.failure, transport.describe() + ": " + error.what());
      }
    });
  for (std::thread& each : threads) each.join();
  require<Error>(room.failure.empty(), room.failure);
}

}  // namespace gradus::distributed
