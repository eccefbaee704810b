// How the processes of one run talk: a few calls, in which all of them take part in the same order.
// threads.h has them between threads of one process, mpi/mpi.h between processes and machines.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gradus::distributed {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

class Transport {
 public:
  virtual ~Transport() = default;
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual int rank() const = 0;  // of this process: 0 … size() − 1
  virtual int size() const = 0;

  /// out[r] goes to process r; in[r] is filled with what process r has as out[rank()], which must
  /// be as long (and may be in[rank()] itself). Returns when all of both is done. Where another
  /// process has ended or is silent this ends, too: by an Error that says which, where, and at what
  /// (threads), or by the process's end after that line (MPI).
  void exchange(const std::vector<ConstBytes>& out, const std::vector<Bytes>& in);

  /// Ends all processes. The line that says why begins with describe().
  [[noreturn]] virtual void end_all(const std::string& why) = 0;

  /// What others say of this process if it ends: `doing` must live as long ("the forward pass").
  void note(const char* doing) { doing_ = doing; }
  void note_step(std::int64_t step) { step_ = step; }
  /// "rank 2 on host b, at step 17, in the forward pass"
  std::string describe() const;

  std::int64_t bytes_sent() const { return bytes_sent_; }  // to other processes, by exchange()
  double seconds_waited() const { return seconds_waited_; }

  // ---- by exchange() ----
  /// Each process's bytes, one after the other in the order of ranks: `sizes` has their numbers.
  void all_gather(ConstBytes own, const std::vector<std::size_t>& sizes, Bytes all);
  /// The same for as many doubles (or other plain values) from each.
  template <class T>
  std::vector<T> all_gather(const std::vector<T>& own) {
    std::vector<T> all(own.size() * static_cast<std::size_t>(size()));
    all_gather(std::as_bytes(std::span(own)),
               std::vector<std::size_t>(static_cast<std::size_t>(size()), own.size() * sizeof(T)),
               std::as_writable_bytes(std::span(all)));
    return all;
  }
  std::vector<std::string> all_gather(const std::string& own);
  /// Process 0's value.
  template <class T>
  T broadcast(const T& value) {
    return all_gather(std::vector<T>{value}).front();
  }
  void barrier() { all_gather(std::vector<char>{0}); }

 protected:
  /// exchange() without what stays in this process.
  virtual void exchange_others(const std::vector<ConstBytes>& out,
                               const std::vector<Bytes>& in) = 0;

 private:
  std::atomic<std::int64_t> step_{0};
  std::atomic<const char*> doing_{"starting"};
  std::int64_t bytes_sent_ = 0;
  double seconds_waited_ = 0;
};

/// What the machine is called, in messages.
std::string host_name();

/// One process: its own numbers come back. abort() throws an Error.
Transport& alone();

}  // namespace gradus::distributed
