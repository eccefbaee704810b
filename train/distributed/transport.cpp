// What every transport does in the same way.
#include "gradus/train/distributed/transport.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <sstream>

#include "gradus/base/error.h"

namespace gradus::distributed {
namespace {

class Alone final : public Transport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  [[noreturn]] void abort(const std::string& why) override { fail<Error>(why); }

 private:
  void do_exchange(const std::vector<ConstBytes>& out, const std::vector<Bytes>& in) override {
    std::ranges::copy(out[0], in[0].begin());
  }
};

}  // namespace

Transport& alone() {
  static Alone one;
  return one;
}

void Transport::exchange(const std::vector<ConstBytes>& out, const std::vector<Bytes>& in) {
  for (int r = 0; r < size(); ++r)
    if (r != rank()) bytes_sent_ += std::ssize(out[static_cast<std::size_t>(r)]);
  const auto begin = std::chrono::steady_clock::now();
  do_exchange(out, in);
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
  const std::vector<std::size_t> sizes = all_gather(std::vector{own.size()});
  std::string all(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), ' ');
  all_gather(bytes_of(own.data(), std::ssize(own)), sizes,
             writable_bytes_of(all.data(), std::ssize(all)));
  std::vector<std::string> texts;
  std::size_t begin = 0;
  for (const std::size_t size : sizes) {
    texts.push_back(all.substr(begin, size));
    begin += size;
  }
  return texts;
}

void Transport::require_same(const std::string& text, const std::string& what) {
  const std::vector<std::string> all = all_gather(text);
  const auto other = std::ranges::find_if(all, [&](const auto& each) { return each != all[0]; });
  if (other == all.end()) return;
  if (other - all.begin() != rank()) barrier();  // until that process has ended all
  std::istringstream own(text), first(all[0]);
  std::string line, wanted;
  while (std::getline(own, line) && std::getline(first, wanted) && line == wanted) continue;
  abort(gradus::text("has another ", what, " than rank 0: ", line, ", not ", wanted));
}

std::string describe(int rank, const std::string& host, std::int64_t step, const char* doing) {
  return text("rank ", rank, " on host ", host, ", at step ", step, ", ", doing);
}

std::string Transport::describe() const {
  return distributed::describe(rank(), host_name(), step_, doing_);
}

std::string host_name() {
  char name[256] = "unknown";
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::uint64_t checksum(ConstBytes bytes) {
  std::uint64_t sum = 14695981039346656037u;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(8, bytes.size() - i));
    sum = (sum ^ word) * 1099511628211u;
    sum ^= sum >> 32;
  }
  return sum;
}

}  // namespace gradus::distributed
