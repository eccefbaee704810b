// Communication between processes. Implementations: threads.h, mpi/mpi.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gradus/engine/tensor.h"

namespace gradus::distributed {

/// Memory for receiving (Bytes) and sending (ConstBytes).
using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

/// Returns the bytes of elements [begin, end) of a contiguous tensor. Writes to them do not
/// increment the tensor's version.
Bytes bytes_of(const Tensor& x, std::int64_t begin, std::int64_t end);

/// Collective communication. All processes must make the same calls in the same order.
class Transport {
 public:
  virtual ~Transport() = default;
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual int rank() const = 0;  // 0 … size() − 1
  virtual int size() const = 0;

  /// Sends out[r] to process r, and receives out[rank()] of process r in in[r], which must have the
  /// same length. out[rank()] and in[rank()] may be the same memory. If another process ends or is
  /// silent, throws an Error (threads), or prints a message and exits (MPI).
  void exchange(const std::vector<ConstBytes>& out, const std::vector<Bytes>& in);

  /// Ends all processes. The message begins with describe().
  [[noreturn]] virtual void abort(const std::string& why) = 0;

  /// Sets the activity that describe() reports, such as "in the forward pass". The text must
  /// outlive the transport.
  void note(const char* doing) { doing_ = doing; }
  void note_step(std::int64_t step) { step_ = step; }
  /// Returns a description such as "rank 2 on host b, at step 17, in the forward pass".
  std::string describe() const;

  std::int64_t bytes_sent() const { return bytes_sent_; }  // by exchange()
  double seconds_waited() const { return seconds_waited_; }

  // ---- implemented with exchange() ----
  /// Concatenates the bytes of all processes in rank order. Process r contributes sizes[r] bytes.
  void all_gather(ConstBytes own, const std::vector<std::size_t>& sizes, Bytes all);
  /// Concatenates the values of all processes, each of which contributes the same number.
  template <class T>
  std::vector<T> all_gather(const std::vector<T>& own) {
    std::vector<T> all(own.size() * static_cast<std::size_t>(size()));
    all_gather(std::as_bytes(std::span(own)),
               std::vector<std::size_t>(static_cast<std::size_t>(size()), own.size() * sizeof(T)),
               std::as_writable_bytes(std::span(all)));
    return all;
  }
  std::vector<std::string> all_gather(const std::string& own);
  /// Returns the value of process 0 on every process.
  template <class T>
  T broadcast(const T& value) {
    return all_gather(std::vector<T>{value}).front();
  }
  void barrier() { all_gather(std::vector<char>{0}); }

 protected:
  /// Performs exchange() with the other processes. Does not copy the data that this process sends
  /// to itself.
  virtual void exchange_others(const std::vector<ConstBytes>& out,
                               const std::vector<Bytes>& in) = 0;

 private:
  std::atomic<std::int64_t> step_{0};
  std::atomic<const char*> doing_{"starting"};
  std::int64_t bytes_sent_ = 0;
  double seconds_waited_ = 0;
};

/// Returns the name of this host.
std::string host_name();

/// Returns the transport of a single process. Its abort() throws an Error.
Transport& alone();

}  // namespace gradus::distributed
