#pragma once

#include <string>

#include "gradus/check/gradients.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/registry.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::conditions {

using check::Options;
using check::Report;
using check::Tensors;
using check::Verdict;
using testing::has;
using testing::message_of;
using testing::values;

inline Tensor square_of(const Tensors& in) { return in[0] * in[0]; }

/// Reads consecutive elements from the offset of x, ignoring the strides.
inline Tensor careless(const Tensor& x) {
  const auto count = static_cast<std::int64_t>(x.storage()->bytes() / size_of(x.dtype()));
  if (count < x.offset() + x.numel()) return full(x.shape(), 0.5, x.dtype());
  return kernel::strided_view(x, x.shape(), contiguous_strides(x.shape()), x.offset()).clone();
}

inline Report square_with(const check::Vjp& backward, const Options& options = {}) {
  return check::vjp("square", square_of, backward, {values({3, 4})}, options);
}

inline void caught(const Report& report, const std::string& cause) {
  INFO(report);
  CHECK(report.verdict == Verdict::fail);
  CHECK(report.inputs[0].wrong == 0);
  REQUIRE(!report.findings.empty());
  CHECK(report.findings[0].kind == check::Kind::condition);
  CHECK(report.inputs[0].cause.name == cause);
  CHECK(!report.smallest.empty());
}

}  // namespace gradus::conditions
