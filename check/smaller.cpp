// The smallest inputs that fail too: what one wants to step through.
//
// Axes of one length belong together, as far as anybody can tell from outside: all of them are cut
// to a smaller one, and the function is asked again. What it does not take is not smaller.
#include <algorithm>
#include <set>
#include <utility>

#include "gradus/check/smaller.h"
#include "gradus/engine/strided.h"

namespace gradus::check {
namespace {

constexpr int kTries = 60;

Tensors cut(const Tensors& x, std::int64_t from, std::int64_t to) {
  Tensors out;
  for (const Tensor& each : x) {
    Shape shape = each.shape();
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (shape[axis] == from) shape[axis] = to;
    // In a buffer of the old size: a function that counts on it meets zeros, and stays inside.
    Tensor whole = Tensor::empty({each.numel()}, each.dtype());
    whole.fill_(0);
    Tensor smaller = kernel::strided_view(whole, shape, contiguous_strides(shape), 0);
    smaller.copy_(kernel::strided_view(each, shape, each.strides(), each.offset()));
    out.push_back(smaller);
  }
  return out;
}

std::set<std::int64_t> lengths(const Tensors& x) {
  std::set<std::int64_t> out;
  for (const Tensor& each : x)
    for (const std::int64_t n : each.shape())
      if (n > 1) out.insert(n);
  return out;
}

std::string shapes_of(const Subject& subject) {
  std::string out;
  for (std::size_t k = 0; k < subject.inputs.size() && k < 5; ++k)
    out += (k == 0 ? "" : ", ") + subject.options.names[k] + " " +
           core::list(sizes_of(subject.inputs[k]));
  return out + (subject.inputs.size() > 5 ? " …" : "");
}

/// Does it fail there in the same way?
bool fails(const Report& report, const Report& first) {
  return report.verdict == Verdict::fail && !report.findings.empty() &&
         (report.findings[0].kind == core::Kind::condition) ==
             (first.findings[0].kind == core::Kind::condition);
}

}  // namespace

void find_smallest(const Subject& subject, Report& report,
                   const std::function<Report(const Subject&)>& check) {
  if (report.findings.empty() || report.findings[0].kind == core::Kind::structure) return;
  Subject least = subject;
  Report found = report;
  int tries = 0;
  for (bool again = true; again;) {
    again = false;
    for (const std::int64_t length : lengths(least.inputs)) {
      for (std::int64_t n = 1; n < length && ++tries < kTries; n = n < 3 ? n + 1 : 2 * n) {
        try {
          Subject smaller = subject.at(cut(least.inputs, length, n));
          Report tried = check(smaller);
          if (!fails(tried, report)) continue;
          least = std::move(smaller), found = std::move(tried), again = true;
          break;
        } catch (const std::exception&) {
          continue;
        }
      }
      if (again) break;
    }
  }
  report.smallest = shapes_of(least) + ": " + core::in_one_line(found.findings[0]);
}

}  // namespace gradus::check
