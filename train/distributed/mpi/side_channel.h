// A thread in each process that tells rank 0 that the process lives, and what it does; rank 0 tells
// the others the same of itself. It ends the process where that stops.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace gradus::distributed {

class SideChannel {
 public:
  struct Options {
    int rank, size;
    double silence_seconds;                      // until a process counts as gone; 0: for ever
    std::vector<std::string> hosts;              // of each rank
    std::function<std::string()> describe;       // this process: any thread may ask
    std::function<std::string(std::string)> of;  // rank 0's text, told to all: its address
    std::function<void(std::string)> say;        // a line to people
  };
  explicit SideChannel(Options options);
  ~SideChannel();  // of all processes at the same time
  SideChannel(const SideChannel&) = delete;
  SideChannel& operator=(const SideChannel&) = delete;

  /// Says the line, has all others end, and ends this process.
  [[noreturn]] void end_all(const std::string& line);

 private:
  struct Peer {
    int socket;
    double heard;           // when; seconds of a steady clock
    std::string described;  // by itself, at that time
    std::string received;   // not yet a whole message
  };
  void listen();
  void connect(const std::string& address);
  void watch();
  void hear(Peer& peer);
  void tell(char kind, const std::string& what);
  void lost(const Peer& peer, const std::string& how);

  Options options_;
  std::vector<Peer> peers_;  // of rank 0 all others, of others rank 0
  std::mutex sending_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace gradus::distributed
