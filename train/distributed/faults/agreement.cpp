#include "gradus/train/distributed/faults/agreement.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "gradus/engine/base/error.h"

namespace gradus::distributed {

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

void require_same(Transport& transport, const std::string& text, const std::string& what) {
  const std::vector<std::string> all = transport.all_gather(text);
  const auto other =
      std::find_if(all.begin(), all.end(), [&](const auto& each) { return each != all[0]; });
  if (other == all.end()) return;
  if (other - all.begin() != transport.rank()) transport.barrier();  // until that process aborts
  std::istringstream own(text), first(all[0]);
  std::string line, wanted;
  do {  // missing lines count as empty
    if (!std::getline(own, line)) line.clear();
    if (!std::getline(first, wanted)) wanted.clear();
  } while (line == wanted && (own || first));
  transport.abort(str_cat("has a different ", what, " than rank 0: ", line, ", not ", wanted));
}

void require_same(Transport& transport, const std::vector<nn::NamedTensor>& tensors) {
  std::vector<std::uint64_t> own;
  for (const auto& [name, tensor] : tensors)
    own.push_back(checksum(bytes_of(tensor, 0, tensor.numel())));
  const std::vector<std::uint64_t> all = transport.all_gather(own);
  std::size_t other = 0;
  while (other < all.size() && all[other] == all[other % own.size()]) ++other;
  if (other == all.size()) return;
  if (other / own.size() != static_cast<std::size_t>(transport.rank()))
    transport.barrier();  // until the other process aborts all
  transport.abort("has different values in " + tensors[other % own.size()].name +
                  " than rank 0: the processes have diverged");
}

}  // namespace gradus::distributed
