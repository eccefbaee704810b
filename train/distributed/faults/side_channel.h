// A thread in each process that tells rank 0 that the process lives, and what it does; rank 0 tells
// the others the same of itself. It ends the process where that stops.
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
  /// By all processes of `transport` at the same time, as is the end. GRADUS_SILENCE as in mpi.h.
  explicit SideChannel(Transport& transport);
  void require_same_program();  // ends all where one runs another
  ~SideChannel();
  SideChannel(const SideChannel&) = delete;
  SideChannel& operator=(const SideChannel&) = delete;

  void say(const std::string& line) const;  // where stderr led at first
  /// Says the line, has all others end, and ends this process.
  [[noreturn]] void abort(const std::string& line);

 private:
  struct Peer {
    int socket;
    double heard;          // when; seconds of a steady clock
    std::string describe;  // of its transport, at that time
    std::string received;  // not yet a whole message
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
  std::vector<Peer> peers_;  // of rank 0 all others, of others rank 0
  std::mutex sending_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace gradus::distributed
