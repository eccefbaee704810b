// Detection of lost processes.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gradus/train/distributed/transport.h"

namespace gradus::distributed {

/// Exchanges status reports with rank 0. Ends the process when reports stop.
class SideChannel {
 public:
  /// Construction and destruction are collective. See mpi.h for GRADUS_SILENCE.
  explicit SideChannel(Transport& transport);
  void require_same_program();  // aborts all processes if programs differ
  ~SideChannel();
  SideChannel(const SideChannel&) = delete;
  SideChannel& operator=(const SideChannel&) = delete;

  void say(const std::string& line) const;  // writes to the stderr that the program started with
  /// Prints the line and ends all processes.
  [[noreturn]] void abort(const std::string& line);

 private:
  struct Peer {
    int socket;
    double heard;          // time of the peer's last message
    std::string describe;  // the peer's Transport::describe() at that time
    std::string received;  // start of an incomplete message
  };
  void listen();
  void connect(const std::string& address);
  void watch();
  void hear(Peer& peer);
  void tell(char kind, const std::string& what);
  void lost(const Peer& peer, const std::string& how);

  Transport& transport_;
  const double silence_seconds_;
  const std::vector<std::string> hosts_;
  const int error_output_;
  std::vector<Peer> peers_;  // on rank 0: all others; on other ranks: rank 0
  std::mutex sending_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace gradus::distributed
