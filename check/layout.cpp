// The same numbers, lying in memory in other ways: gradients must not notice.
#include <algorithm>
#include <cmath>
#include <utility>

#include "gradus/check/condition.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/members.h"

namespace gradus::check {
namespace {

const core::Cause kInputLayout = {
    "LAYOUT", "the same numbers with other strides or another offset give another result",
    "data() walked as if it were row-major? Take kernel::contiguous(x) first, or walk by "
    "strides()"};
const core::Cause kUpstreamLayout = {
    "UPSTREAM LAYOUT", "dy's numbers are read as if they lay in row-major order, and they need not",
    "take kernel::contiguous(dy) before data(), or walk by dy.strides(): sum() and expand() hand "
    "back "
    "strides of 0, transpose() hands them back swapped"};
const core::Cause kOutside = {"WRITES OUTSIDE",
                              "memory beside a tensor was written to: it belongs to others",
                              "do the loops end where the tensor ends, and begin at its offset()?"};

enum class Layout { transposed, offset, every_second };

/// A tensor of x's shape in a buffer of NaN, laid out so.
Tensor place_for(const Tensor& x, Layout layout) {
  Strides strides = x.strides();
  std::int64_t offset = 0, step = layout == Layout::every_second ? 2 : 1;
  for (int i = 0; i < x.rank(); ++i) {
    const int axis = layout == Layout::transposed ? i : x.rank() - 1 - i;
    strides[axis] = step;
    if (layout == Layout::offset) offset += 2 * step;
    step *= std::max<std::int64_t>(x.size(axis), 1) + (layout == Layout::offset ? 3 : 0);
  }
  if (layout == Layout::offset) offset += 5;  // of a single value too
  Tensor whole = Tensor::empty({step + offset + 5}, x.dtype());
  whole.fill_(is_float(x.dtype()) ? std::nan("") : 0);
  return kernel::strided_view(whole, x.shape(), strides, offset);
}

Tensor laid_out(const Tensor& x, Layout layout) { return place_for(x, layout).copy_(x); }

Tensors laid_out(const Tensors& x, Layout layout) {
  Tensors out;
  for (const Tensor& each : x) out.push_back(laid_out(each, layout));
  return out;
}

/// x's first entry along an axis, as often as the axis is long: with strides of 0.
Tensor repeated(const Tensor& x, int axis) {
  Strides strides = x.strides();
  strides[axis] = 0;
  return kernel::strided_view(x, x.shape(), strides, x.offset());
}

/// Are the numbers around x's own in its buffer what they were?
bool frame_is_whole(const Tensor& x) {
  const auto count = static_cast<std::int64_t>(x.storage()->bytes() / size_of(x.dtype()));
  Tensor rest = kernel::copy(kernel::strided_view(x, {count}, {1}, 0));
  kernel::strided_view(rest, x.shape(), x.strides(), x.offset()).fill_(std::nan(""));
  for (const double v : numbers(rest))
    if (!std::isnan(v)) return false;
  return true;
}

/// x.transpose() costs no copy: what comes out of it has its axes swapped in memory. Kernels that
/// count x.data()[i * columns + j] read another element there.
void transposed_inputs(Trial& t) {
  t.same("for transposed inputs", kInputLayout,
         [&] { return t.answer(laid_out(t.x, Layout::transposed), t.dy); });
}

/// Every second column, one channel of several: neighbours are not side by side.
void strided_inputs(Trial& t) {
  t.same("for inputs of every second element in memory", kInputLayout,
         [&] { return t.answer(laid_out(t.x, Layout::every_second), t.dy); });
}

/// A slice starts somewhere inside of its buffer, and its rows have gaps. What reads or writes
/// there meets other people's numbers.
void offset_inputs(Trial& t) {
  const Tensors x = laid_out(t.x, Layout::offset);
  const Tensor dy = laid_out(t.dy, Layout::offset);
  t.same("for inputs that are slices of larger ones", kInputLayout,
         [&] { return t.answer(x, t.dy); });
  t.same("for an upstream gradient that is a slice of a larger one", kUpstreamLayout,
         [&] { return t.answer(t.x, dy); });
  for (std::size_t k = 0; k < x.size(); ++k)
    if (is_float(x[k].dtype()) && !frame_is_whole(x[k]))
      t.add(k, kOutside, "memory beside the input was written to");
  if (!frame_is_whole(dy)) t.add(0, kOutside, "memory beside dy was written to");
}

/// expand() repeats a tensor with a stride of 0: the buffer holds fewer numbers than numel().
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
               [&] { return there.answer(views, t.dy); });
  } catch (const std::exception&) {
    return;  // equal rows are nothing that this function takes
  }
}

/// y.transpose().backward() hands the upstream gradient back with its axes swapped in memory.
void transposed_upstream(Trial& t) {
  if (t.dy.rank() < 2) return;
  t.same("for a transposed upstream gradient", kUpstreamLayout,
         [&] { return t.answer(t.x, laid_out(t.dy, Layout::transposed)); });
}

void strided_upstream(Trial& t) {
  t.same("for an upstream gradient of every second element in memory", kUpstreamLayout,
         [&] { return t.answer(t.x, laid_out(t.dy, Layout::every_second)); });
}

/// sum(y).backward() hands back one number for all outputs, with strides of 0: a kernel that walks
/// on from it reads past the end. A sum over one axis repeats a row, or a column.
void repeated_upstream(Trial& t) {
  for (int axis = -1; axis < t.dy.rank(); ++axis) {
    const Tensor dy =
        axis < 0 ? kernel::strided_view(t.dy, t.dy.shape(), Strides::filled(t.dy.rank(), 0), 0)
                 : repeated(t.dy, axis);
    if (t.dy.numel() == 0 || (axis >= 0 && (t.dy.rank() == 1 || t.dy.size(axis) == 1))) continue;
    Trial there = t.elsewhere(t.x, kernel::copy(dy));
    there.same(axis < 0 ? "for an upstream gradient of one repeated number, as sum() gives"
                        : "for an upstream gradient repeated along axis " + std::to_string(axis),
               kUpstreamLayout, [&] { return there.answer(t.x, dy); });
  }
}

}  // namespace

void check_layouts(Trial& trial) {
  transposed_inputs(trial);
  strided_inputs(trial);
  offset_inputs(trial);
  repeated_inputs(trial);
  transposed_upstream(trial);
  strided_upstream(trial);
  repeated_upstream(trial);
}

}  // namespace gradus::check
