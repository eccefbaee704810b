// Adds gradients, in place if one of the two buffers is unshared. An addition that is recorded runs
// as an op.
#include "gradus/engine/accumulate.h"

#include "gradus/engine/apply.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/simd.h"
#include "gradus/engine/broadcast.h"
#include "gradus/engine/strided.h"

namespace gradus {

namespace op {

struct Accumulate final : Op {  // y = a + b,  da = db = dy
  const char* name() const override { return "accumulate"; }
  Tensor forward(const Tensor& a, const Tensor& b) {
    Tensor y = kernel::copy(a);
    add_(y, b);
    return y;
  }
  Gradients backward(const Tensor& dy, const NeedsGrad&) override { return {dy, dy}; }
};

}  // namespace op

namespace {

template <class T>
GRADUS_INLINE void add_row(T* target, std::int64_t step, const T* source, std::int64_t source_step,
                           std::int64_t n) {
  if (step == 1 && source_step == 1)
    for (std::int64_t i = 0; i < n; ++i) target[i] += source[i];
  else
    for (std::int64_t i = 0; i < n; ++i) target[i * step] += source[i * source_step];
}

/// sum[index[i], :] += part[i, :]. Threads split the columns, so repeated rows do not race and are
/// added in index order.
void add_rows(Tensor& sum, const Tensor& part, const Tensor& index) {
  const std::int64_t rows = index.numel(), columns = rows == 0 ? 0 : part.numel() / rows;
  const Tensor from = kernel::contiguous(part), at = kernel::contiguous(index);
  const auto* row = at.data<std::int64_t>();
  const std::int64_t grain = std::max<std::int64_t>(64, rows_grain(rows));
  dispatch_float("accumulate", sum.dtype(), [&]<class T>() {
    T* target = sum.mutable_data<T>();
    const T* source = from.data<T>();
    parallel_for(columns, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 0; i < rows; ++i)
        simd::run<add_row<T>>(target + row[i] * columns + begin, 1, source + i * columns + begin, 1,
                              end - begin);
    });
  });
}

void check_region(const Shape& shape, const Gradient& gradient) {
  const Gradient::Region& region = gradient.region();
  const Shape& part = gradient.part().shape();
  if (region.index.defined()) {
    require<ShapeError>(shape.rank() > 0 && gradient.part().numel() * shape[0] ==
                                                region.index.numel() * numel(shape),
                        "a gradient of ", region.index.numel(), " rows has shape ", part,
                        " but its tensor has shape ", shape,
                        ". Each row must have as many elements as a row of the tensor.");
    for (const std::int64_t row : region.index.to_vector<std::int64_t>())
      require<IndexError>(0 <= row && row < shape[0], "a gradient's row ", row,
                          " is out of range for a tensor of shape ", shape,
                          ". Rows must be in [0, ", shape[0], ").");
    return;
  }
  Shape rest = shape;
  const bool has_axis =
      0 <= region.axis && region.axis < shape.rank() && part.rank() == shape.rank();
  if (has_axis) rest[region.axis] = part[region.axis];
  const std::int64_t count = has_axis ? part[region.axis] : 0;
  const std::int64_t last = region.start + (count - 1) * region.step;
  require<ShapeError>(has_axis && part == rest && region.start >= 0 && region.step >= 1 &&
                          (count == 0 || last < shape[region.axis]),
                      "a partial gradient ", part, " (axis ", region.axis, ", start ", region.start,
                      ", step ", region.step, ") does not fit a tensor of shape ", shape,
                      ". Keep every position inside the axis.");
}

void accumulate_part(Tensor& sum, const Shape& shape, Dtype dtype, const Gradient& gradient) {
  check_region(shape, gradient);
  if (!sum.defined()) sum = Tensor::empty(shape, dtype).fill_(0);
  if (!is_own(sum)) sum = kernel::copy(sum);
  const Gradient::Region& region = gradient.region();
  if (region.index.defined()) return add_rows(sum, gradient.part(), region.index);
  Tensor target = kernel::sliced(sum, region.axis, region.start, gradient.part().size(region.axis),
                                 region.step);
  add_(target, gradient.part());
}

}  // namespace

bool is_own(const Tensor& x) { return x.has_unique_storage() && x.is_contiguous(); }

void add_(Tensor& target, const Tensor& source) {
  const Strides strides[] = {target.strides(), source.strides()};
  dispatch_float("accumulate", target.dtype(), [&]<class T>() {
    T* to = target.mutable_data<T>();
    const T* from = source.data<T>();
    for_each_row(target.shape(), strides,
                 [&](const Offsets& at, std::int64_t n, const Offsets& step) {
                   simd::run<add_row<T>>(to + at[0], step[0], from + at[1], step[1], n);
                 });
  });
}

void accumulate(Tensor& sum, const Shape& shape, Dtype dtype, Gradient gradient,
                bool differentiable) {
  Tensor part = gradient.part();
  require<DtypeError>(part.dtype() == dtype, "a gradient is ", part.dtype(), " but its tensor is ",
                      dtype, ". Return gradients in the tensor's dtype.");
  if (!gradient.is_whole()) {
    require<GraphError>(!differentiable,
                        "a partial gradient cannot be recorded. If GradMode::enabled(), ",
                        "backward must return entire gradients.");
    return accumulate_part(sum, shape, dtype, gradient);
  }
  gradient = {};  // so that `part` is the only owner of its buffer, if possible
  require<ShapeError>(broadcasts_to(shape, part.shape()), "a gradient has shape ", part.shape(),
                      " but its tensor has shape ", shape,
                      ". Return a gradient of that shape, or one broadcast from it.");
  part = sum_to(part, shape);
  if (!sum.defined()) {
    sum = part;
  } else if (differentiable) {
    sum = apply(op::Accumulate{}, sum, part);
  } else {
    if (!is_own(sum) && is_own(part)) std::swap(sum, part);
    if (!is_own(sum)) sum = kernel::copy(sum);
    add_(sum, part);
  }
}

}  // namespace gradus
