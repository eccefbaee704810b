// A message consists of 512 bytes, a letter and a text. "a" means alive; its text is describe().
// "e" means end.
#include "gradus/train/distributed/faults/side_channel.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "gradus/engine/base/environment.h"
#include "gradus/engine/base/error.h"
#include "gradus/train/distributed/faults/agreement.h"

namespace gradus::distributed {
namespace {

constexpr std::size_t kMessage = 512;
constexpr int kLook = 50;                                      // milliseconds between checks
constexpr double kTellEvery = 0.25, kConnect = 20, kTurn = 4;  // seconds
constexpr int kEndedByOther = 3;                               // exit code

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int checked(int result, const char* what) {
  require<Error>(result >= 0, "the connection between processes failed: ", what, " (",
                 std::strerror(errno), ")");
  return result;
}

std::string first_message(int socket) {
  const timeval limit{5, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::string all(kMessage, '\0');
  const ssize_t got = ::recv(socket, all.data(), all.size(), MSG_WAITALL);
  return got == static_cast<ssize_t>(kMessage) ? all.c_str() + 1 : "";
}

double silence_seconds() {
  const char* asked = environment::value_of(environment::Variable::silence);
  return *asked ? std::atof(asked) : 5;
}

}  // namespace

SideChannel::SideChannel(Transport& transport)
    : transport_(transport),
      silence_seconds_(silence_seconds()),
      hosts_(transport.all_gather(host_name())),
      error_output_(::dup(STDERR_FILENO)) {
  if (transport.rank() == 0)
    listen();
  else
    connect(transport.all_gather(std::string()).front());
  thread_ = std::thread([this] { watch(); });
}

void SideChannel::require_same_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string own{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  require_same(transport_, str_cat("checksum ", checksum(std::as_bytes(std::span(own)))),
               "program");
}

SideChannel::~SideChannel() {
  done_ = true;
  thread_.join();
  transport_.barrier();  // all processes have stopped watching
  for (const Peer& peer : peers_) ::close(peer.socket);
  ::close(error_output_);
}

/// Rank 0 listens on all interfaces, or only on loopback if all processes share a host. Processes
/// authenticate with a secret that MPI distributes.
void SideChannel::listen() {
  const bool one_host = std::count(hosts_.begin(), hosts_.end(), hosts_[0]) == std::ssize(hosts_);
  const int listener = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(one_host ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t size = sizeof address;
  checked(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), "bind");
  checked(::listen(listener, transport_.size()), "listen");
  checked(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
  std::random_device random;
  const std::string secret = str_cat(random(), random());
  transport_.all_gather(
      str_cat(one_host ? "127.0.0.1" : hosts_[0], " ", ntohs(address.sin_port), " ", secret));
  const double begin = now();
  while (std::ssize(peers_) < transport_.size() - 1) {
    pollfd wanted{listener, POLLIN, 0};
    ::poll(&wanted, 1, kLook);
    require<Error>(now() - begin < kConnect, "only ", peers_.size(),
                   " other processes have reached rank 0 on host ", hosts_[0], ", port ",
                   ntohs(address.sin_port), ". Check the firewalls between the hosts.");
    if (!(wanted.revents & POLLIN)) continue;
    const int socket = checked(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC), "accept");
    const std::string hello = first_message(socket);
    if (hello.starts_with(secret))
      peers_.push_back({socket, now(), hello.substr(secret.size()), ""});
    else
      ::close(socket);
  }
  ::close(listener);
}

void SideChannel::connect(const std::string& address) {
  std::istringstream parts(address);
  std::string host, port, secret;
  parts >> host >> port >> secret;
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  require<Error>(::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found) == 0,
                 "cannot resolve the host of rank 0, ", host);
  const int socket = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  const int connected = ::connect(socket, found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  checked(connected, "connect");
  peers_.push_back(
      {socket, now(), str_cat("rank 0 on host ", hosts_[0], ", at step 0, starting"), ""});
  tell('h', secret + transport_.describe());
}

void SideChannel::watch() {
  double told = 0;
  std::string last;
  while (!done_) {
    std::vector<pollfd> wanted;
    for (const Peer& peer : peers_) wanted.push_back({peer.socket, POLLIN, 0});
    ::poll(wanted.data(), static_cast<nfds_t>(wanted.size()), kLook);
    for (std::size_t i = 0; i < wanted.size() && !done_; ++i)
      if (wanted[i].revents) hear(peers_[i]);
    if (const std::string own = transport_.describe(); own != last || now() - told >= kTellEvery) {
      tell('a', own);
      last = own;
      told = now();
    }
    for (const Peer& peer : peers_)
      if (silence_seconds_ > 0 && now() - peer.heard > silence_seconds_)
        lost(peer, str_cat("has been silent for ", silence_seconds_, " s: it or its host is down"));
  }
}

void SideChannel::hear(Peer& peer) {
  char bytes[8 * kMessage];
  const ssize_t got = ::recv(peer.socket, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return lost(peer, "has ended");
  peer.heard = now();
  peer.received.append(bytes, static_cast<std::size_t>(got));
  for (; peer.received.size() >= kMessage; peer.received.erase(0, kMessage)) {
    const std::string what = peer.received.c_str() + 1;
    if (peer.received[0] == 'a') peer.describe = what;
    if (peer.received[0] != 'e') continue;
    if (transport_.rank() == 0) tell('e', what);
    std::_Exit(kEndedByOther);
  }
}

/// Sends a message without blocking. A process that does not read in time counts as silent.
void SideChannel::tell(char kind, const std::string& what) {
  const std::lock_guard lock(sending_);
  std::string all = kind + what;
  all.resize(kMessage, '\0');
  for (const Peer& peer : peers_)
    static_cast<void>(::send(peer.socket, all.data(), all.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

/// Rank 0 reports a lost process; if rank 0 is lost, the next rank reports. Each rank waits for the
/// rank before it while mpirun detects the end of a process and ends the others.
void SideChannel::lost(const Peer& peer, const std::string& how) {
  for (double until = now() + kTurn * std::max(0, transport_.rank() - 1); now() < until && !done_;)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (!done_) abort(peer.describe + ": " + how);
}

void SideChannel::say(const std::string& line) const {
  const std::string all = "gradus: " + line + "\n";
  static_cast<void>(!::write(error_output_, all.data(), all.size()));
}

void SideChannel::abort(const std::string& line) {
  say(line);
  tell('e', line);
  std::_Exit(kEndedByOther);
}

}  // namespace gradus::distributed
