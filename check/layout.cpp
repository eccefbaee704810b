// Tests that equal values in different memory layouts have equal gradients.
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "gradus/check/condition.h"
#include "gradus/engine/strided.h"

namespace gradus::check {
namespace {

const Cause kInputLayout = {
    "LAYOUT", "the same values with other strides or another offset give another result",
    "does the code read data() as if it were row-major? Call x.contiguous() first, or use "
    "strides()"};
const Cause kUpstreamLayout = {
    "UPSTREAM LAYOUT", "dy is read as if it were row-major, but it may have other strides",
    "call dy.contiguous() before data(), or use dy.strides(): sum() and expand() return strides "
    "of 0, transpose() returns them swapped"};
const Cause kOutside = {"WRITES OUTSIDE", "memory outside a tensor was written to",
                        "do the loops end where the tensor ends, and begin at its offset()?"};

enum class MemoryLayout { transposed, every_second, slice };

Tensor laid_out(const Tensor& x, MemoryLayout layout) {
  const bool slice = layout == MemoryLayout::slice;
  Strides strides = x.strides();
  std::int64_t offset = slice ? 5 : 0, step = layout == MemoryLayout::every_second ? 2 : 1;
  for (int i = 0; i < x.rank(); ++i) {
    const int axis = layout == MemoryLayout::transposed ? i : x.rank() - 1 - i;
    strides[axis] = step;
    if (slice) offset += 2 * step;
    step *= std::max<std::int64_t>(x.size(axis), 1) + (slice ? 3 : 0);
  }
  Tensor whole = Tensor::empty({step + offset + 5}, x.dtype());
  whole.fill_(is_float(x.dtype()) ? std::nan("") : 0);
  return kernel::strided_view(whole, x.shape(), strides, offset).copy_(x);
}

/// Repeats the first entry of x along an axis (or along all axes) with stride 0.
Tensor repeated(const Tensor& x, std::optional<int> axis) {
  Strides strides = axis ? x.strides() : Strides::filled(x.rank(), 0);
  if (axis) strides[*axis] = 0;
  return kernel::strided_view(x, x.shape(), strides, x.offset());
}

bool frame_is_whole(const Tensor& x) {
  const auto count = static_cast<std::int64_t>(x.storage()->bytes() / size_of(x.dtype()));
  Tensor rest = kernel::copy(kernel::strided_view(x, {count}, {1}, 0));
  kernel::strided_view(rest, x.shape(), x.strides(), x.offset()).fill_(std::nan(""));
  const Values all = numbers(rest);
  return std::all_of(all.begin(), all.end(), [](double v) { return std::isnan(v); });
}

/// Kernels may confuse strides. A transposed tensor has swapped strides, a slice has an offset and
/// gaps, and every second column is not contiguous. dy has such layouts if y is a view.
void other_strides(Trial& t) {
  const std::tuple<MemoryLayout, const char*, const char*> layouts[] = {
      {MemoryLayout::slice, "for inputs that are slices of larger ones",
       "for an upstream gradient that is a slice of a larger one"},
      {MemoryLayout::transposed, "for transposed inputs", "for a transposed upstream gradient"},
      {MemoryLayout::every_second, "for inputs of every second element in memory",
       "for an upstream gradient of every second element in memory"}};
  for (const auto& [layout, inputs, upstream] : layouts) {
    const Tensors x = for_each_defined(
        t.x, [&, layout = layout](std::size_t k) { return laid_out(t.x[k], layout); });
    const Tensor dy = laid_out(t.dy, layout);
    t.same(inputs, kInputLayout, [&, &x = x] { return t.f.run(x, t.dy); });
    if (layout != MemoryLayout::transposed || dy.rank() >= 2)
      t.same(upstream, kUpstreamLayout, [&, &dy = dy] { return t.f.run(t.x, dy); });
    if (layout != MemoryLayout::slice) continue;
    for (std::size_t k = 0; k < x.size(); ++k)
      if (is_float(x[k].dtype()) && !frame_is_whole(x[k]))
        t.add(k, kOutside, "memory outside the input was written to");
    if (!frame_is_whole(dy)) t.add(0, kOutside, "memory outside dy was written to");
  }
}

/// expand() repeats values with stride 0, so the buffer contains fewer values than numel().
void repeated_inputs(Trial& t) {
  Tensors views = t.x, copies = t.x;
  bool any = false;
  for (std::size_t k = 0; k < t.x.size(); ++k) {
    int axis = 0;
    while (axis < t.x[k].rank() && t.x[k].size(axis) < 2) ++axis;
    if (axis == t.x[k].rank()) continue;
    views[k] = repeated(t.x[k], axis);
    copies[k] = kernel::copy(views[k]);
    any = true;
  }
  if (!any) return;
  try {
    Trial there = t.elsewhere(copies, t.dy);
    there.same("for inputs that expand() repeats", kInputLayout,
               [&] { return there.f.run(views, t.dy); });
  } catch (const std::exception&) {
    return;  // f rejects equal rows
  }
}

/// The gradient of sum(y) is one value with strides of 0. A kernel that assumes contiguity reads
/// past its end.
void repeated_upstream(Trial& t) {
  const auto check = [&t](const Tensor& dy, const std::string& what) {
    Trial there = t.elsewhere(t.x, kernel::copy(dy));
    there.same(what, kUpstreamLayout, [&] { return there.f.run(t.x, dy); });
  };
  if (t.dy.numel() == 0) return;
  check(repeated(t.dy, {}), "for an upstream gradient of one repeated value, as from sum()");
  for (int axis = 0; axis < t.dy.rank() && t.dy.rank() > 1; ++axis)
    if (t.dy.size(axis) > 1)
      check(repeated(t.dy, axis), str_cat("for an upstream gradient repeated along axis ", axis));
}

}  // namespace

void check_layouts(Trial& trial) {
  other_strides(trial);
  repeated_inputs(trial);
  repeated_upstream(trial);
}

}  // namespace gradus::check
