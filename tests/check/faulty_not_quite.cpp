// Adds two wrong entries to each fault, so that no single cause explains all wrong entries.
#include <set>
#include <utility>

#include "gradus/tests/check/faulty_ops.h"

namespace gradus::raw_cases {
namespace {

/// Returns the indices of an output and of an element in the second half of input k. Their
/// derivative is nonzero.
std::pair<Index, Index> some_entry(const Case& c, Index k) {
  Arguments in;
  for (const Input& input : c.inputs) in.push_back(input.values);
  const Index outputs = c.forward(in).size(), n = in[k].size();
  for (Index j = n / 2; j < n; ++j)
    for (Index i = 0; i < outputs; ++i) {
      Values dy(outputs, 0.0);
      dy[i] = 1;
      if (std::abs(c.vjp(in, dy)[k][j]) > 0.01) return {i, j};
    }
  return {0, 0};
}

}  // namespace

std::vector<FaultyOp> faulty_not_quite() {
  // The checker finds these causes even with other wrong entries.
  const std::set<std::string> other{"", "NOT LINEAR", "NOT A NUMBER", "UPSTREAM IGNORED"};
  std::vector<FaultyOp> all;
  for (FaultyOp faulty : all_faulty_ops()) {
    if (other.count(faulty.cause) > 0) continue;
    const auto entry = some_entry(faulty.subject, faulty.input);
    faulty.spoil = [spoil = faulty.spoil, k = faulty.input, i = entry.first, j = entry.second](
                       Arguments& dx, const Arguments& in, const Values& dy) {
      spoil(dx, in, dy);
      dx[k][j] += 0.37 * dy[i];
      dx[k][0] += 0.29 * dy.back();
    };
    faulty.name += ", not quite";
    faulty.cause = "";
    all.push_back(faulty);
  }
  return all;
}

}  // namespace gradus::raw_cases
