// Communication between the processes of one run: collective calls, which all processes make in the
// same order. threads.h implements them between threads, mpi/mpi.h between processes and machines.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus::distributed {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

/// The bytes of the elements [begin, end) of a contiguous tensor. Writing to them does not count as
/// a write to the tensor.
Bytes bytes_of(const Tensor& x, std::int64_t begin, std::int64_t end);

class Transport {
 public:
  virtual ~Transport() = default;
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual int rank() const = 0;  // of this process: 0 … size() − 1
  virtual int size() const = 0;

  /// Sends out[r] to process r and fills in[r] with process r's out[rank()], which must have the
  /// same length (out[rank()] may be in[rank()] itself). Returns when both are done. If another
  /// process has ended or is silent, throws an Error that names the process, its host and what it
  /// was doing (threads), or prints that line and ends this process (MPI).
  void exchange(const std::vector<ConstBytes>& out, const std::vector<Bytes>& in);

  /// Ends all processes. The line that says why begins with describe().
  [[noreturn]] virtual void abort(const std::string& why) = 0;

  /// What this process is doing ("in the forward pass"), for the line that others print if it ends.
  /// The text must outlive the transport.
  void note(const char* doing) { doing_ = doing; }
  void note_step(std::int64_t step) { step_ = step; }
  /// "rank 2 on host b, at step 17, in the forward pass"
  std::string describe() const;

  std::int64_t bytes_sent() const { return bytes_sent_; }  // to other processes, by exchange()
  double seconds_waited() const { return seconds_waited_; }

  // ---- by exchange() ----
  /// Concatenates every process's bytes in the order of ranks; process r has sizes[r] of them.
  void all_gather(ConstBytes own, const std::vector<std::size_t>& sizes, Bytes all);
  /// The same for doubles or other plain values, equally many from each process.
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
  /// exchange() without the bytes that stay in this process.
  virtual void exchange_others(const std::vector<ConstBytes>& out,
                               const std::vector<Bytes>& in) = 0;

 private:
  std::atomic<std::int64_t> step_{0};
  std::atomic<const char*> doing_{"starting"};
  std::int64_t bytes_sent_ = 0;
  double seconds_waited_ = 0;
};

/// The machine's name, for messages.
std::string host_name();

/// The transport of a single process. abort() throws an Error.
Transport& alone();

}  // namespace gradus::distributed
