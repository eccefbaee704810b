#include "gradus/train/distributed/transport.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "gradus/engine/base/error.h"

namespace gradus::distributed {
namespace {

class Alone final : public Transport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  [[noreturn]] void abort(const std::string& why) override { fail<Error>(why); }

 private:
  void exchange_others(const std::vector<ConstBytes>&, const std::vector<Bytes>&) override {}
};

}  // namespace

Bytes bytes_of(const Tensor& x, std::int64_t begin, std::int64_t end) {
  const auto element = static_cast<std::int64_t>(size_of(x.dtype()));
  return {static_cast<std::byte*>(x.storage()->data()) + (x.offset() + begin) * element,
          static_cast<std::size_t>((end - begin) * element)};
}

Transport& alone() {
  static Alone one;
  return one;
}

void Transport::exchange(const std::vector<ConstBytes>& out, const std::vector<Bytes>& in) {
  const auto own = static_cast<std::size_t>(rank());
  for (const ConstBytes& each : out) bytes_sent_ += std::ssize(each);
  bytes_sent_ -= std::ssize(out[own]);
  if (out[own].data() != in[own].data())
    std::copy(out[own].begin(), out[own].end(), in[own].begin());
  const auto begin = std::chrono::steady_clock::now();
  exchange_others(out, in);
  seconds_waited_ +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Transport::all_gather(ConstBytes own, const std::vector<std::size_t>& sizes, Bytes all) {
  std::vector<Bytes> in;
  for (const std::size_t size : sizes) {
    in.push_back(all.first(size));
    all = all.subspan(size);
  }
  exchange(std::vector<ConstBytes>(sizes.size(), own), in);
}

std::vector<std::string> Transport::all_gather(const std::string& own) {
  std::vector<std::string> texts;
  for (const std::uint64_t size : all_gather(std::vector<std::uint64_t>{own.size()}))
    texts.emplace_back(static_cast<std::size_t>(size), ' ');
  std::vector<Bytes> in;
  for (std::string& text : texts) in.push_back(std::as_writable_bytes(std::span(text)));
  exchange(std::vector<ConstBytes>(in.size(), std::as_bytes(std::span(own))), in);
  return texts;
}

std::string Transport::describe() const {
  return str_cat("rank ", rank(), " on host ", host_name(), ", at step ", step_, ", ", doing_);
}

std::string host_name() {
  char name[256] = "unknown";
  ::gethostname(name, sizeof name);  // at most 255 characters
  return name;
}

}  // namespace gradus::distributed
