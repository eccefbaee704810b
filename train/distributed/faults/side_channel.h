// A thread in each process that reports to rank 0 that the process is alive, and what it is doing;
// rank 0 reports the same to the others. It ends the process if these reports stop.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gradus/train/distributed/transport.h"

namespace gradus::distributed {

class SideChannel {
 public:
  /// All processes construct it at the same time, and destroy it at the same time. GRADUS_SILENCE:
  /// see mpi.h.
  explicit SideChannel(Transport& transport);
  void require_same_program();  // aborts all if one runs another
  ~SideChannel();
  SideChannel(const SideChannel&) = delete;
  SideChannel& operator=(const SideChannel&) = delete;

  void say(const std::string& line) const;  // to the original stderr
  /// Prints the line, ends all others, and ends this process.
  [[noreturn]] void abort(const std::string& line);

 private:
  struct Peer {
    int socket;
    double heard;          // time of its last message, of a steady clock
    std::string describe;  // its transport's, at that time
    std::string received;  // the beginning of a message
  };
  void listen();
  void connect(const std::string& address);
  void watch();
  void hear(Peer& peer);
  void tell(char kind, const std::string& what);
  void lost(const Peer& peer, const std::string& how);

  Transport& transport_;
  const double silence_seconds_;
  const std::vector<std::string> hosts_;  // of each rank
  const int error_output_;
  std::vector<Peer> peers_;  // rank 0 has all others, the others have rank 0
  std::mutex sending_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace gradus::distributed
