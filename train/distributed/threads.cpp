// An exchange is two meetings: at the first everything to be sent is there, at the second everything
// has been copied.
#include "gradus/train/distributed/threads.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "gradus/base/error.h"
#include "gradus/base/random.h"

namespace gradus::distributed {
namespace {

class Room {
 public:
  explicit Room(int size) : posted(static_cast<std::size_t>(size)), size_(size) {}

  /// Returns when all have come. Error: one never will.
  void meet() {
    std::unique_lock lock(mutex_);
    const std::int64_t now = meeting_;
    if (++arrived_ == size_) arrived_ = 0, ++meeting_, change_.notify_all();
    change_.wait(lock, [&] { return meeting_ != now || !failure_.empty() || !ended_.empty(); });
    if (meeting_ != now) return;
    if (failure_.empty()) failure_ = ended_ + ": ended while others wait";
    fail<Error>(failure_);
  }

  void fail_all(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = why;
    change_.notify_all();
  }
  void end(const std::string& who) {
    const std::lock_guard lock(mutex_);
    ended_ = who;
    change_.notify_all();
  }
  const std::string& failure() const { return failure_; }

  std::vector<const std::vector<ConstBytes>*> posted;  // of each rank

 private:
  const int size_;
  std::mutex mutex_;
  std::condition_variable change_;
  int arrived_ = 0;
  std::int64_t meeting_ = 0;
  std::string failure_, ended_;  // the first; "": none
};

class Threads final : public Transport {
 public:
  Threads(Room& room, int rank, Network network) : room_(room), rank_(rank), network_(network) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(room_.posted.size()); }
  [[noreturn]] void abort(const std::string& why) override {
    room_.fail_all(describe() + ": " + why);
    fail<Error>(room_.failure());
  }

 private:
  void do_exchange(const std::vector<ConstBytes>& out, const std::vector<Bytes>& in) override {
    const auto own = static_cast<std::size_t>(rank_);
    room_.posted[own] = &out;
    room_.meet();
    std::size_t sent = 0, received = 0;
    for (std::size_t r = 0; r < in.size(); ++r) {
      const ConstBytes from = (*room_.posted[r])[own];
      require(from.size() == in[r].size(), "exchange: rank ", r, " sends ", from.size(),
              " bytes to rank ", rank_, ", which awaits ", in[r].size());
      std::ranges::copy(from, in[r].begin());
      if (r != own) sent += out[r].size(), received += from.size();
    }
    double seconds = network_.latency_seconds;
    if (network_.bytes_per_second > 0)
      seconds += static_cast<double>(std::max(sent, received)) / network_.bytes_per_second;
    if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    room_.meet();
  }

  Room& room_;
  int rank_;
  Network network_;
};

}  // namespace

void run_threads(int size, const std::function<void(Transport&)>& work, Network network) {
  Room room(size);
  const Generator before = generator();
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      Generator own = before;
      const GeneratorScope scope(own);
      Threads transport(room, r, network);
      try {
        work(transport);
        room.end(transport.describe());
      } catch (const std::exception& error) {
        room.fail_all(transport.describe() + ": " + error.what());
      }
    });
  for (std::thread& each : threads) each.join();
  require<Error>(room.failure().empty(), room.failure());
}

}  // namespace gradus::distributed
