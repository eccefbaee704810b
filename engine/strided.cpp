#include "gradus/engine/strided.h"

#include "gradus/engine/base/parallel.h"

namespace gradus {
namespace {

/// Shape and strides after merging axes that are consecutive in memory for every operand.
struct Merged {
  Shape shape;
  std::array<Strides, kMaxOperands> strides;
};

Merged merge_axes(const Shape& shape, std::span<const Strides> operands) {
  Merged out;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    const int last = out.shape.rank() - 1;
    bool follows = last >= 0;
    for (std::size_t k = 0; k < operands.size() && follows; ++k)
      follows = out.strides[k][last] == operands[k][axis] * shape[axis];
    if (follows)
      out.shape[last] *= shape[axis];
    else
      out.shape.push_back(shape[axis]);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (follows)
        out.strides[k][last] = operands[k][axis];
      else
        out.strides[k].push_back(operands[k][axis]);
    }
  }
  return out;
}

}  // namespace

void for_each_row(const Shape& shape, std::span<const Strides> operands,
                  FunctionRef<void(const Offsets&, std::int64_t, const Offsets&)> body) {
  if (numel(shape) == 0) return;
  const Merged merged = merge_axes(shape, operands);
  const int inner = merged.shape.rank() - 1;
  Offsets steps{};
  if (inner < 0) return body(Offsets{}, 1, steps);

  const std::int64_t n = merged.shape[inner];
  for (std::size_t k = 0; k < operands.size(); ++k) steps[k] = merged.strides[k][inner];
  if (inner == 0) {  // a single long row, which is split among threads
    parallel_for(n, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
      Offsets offsets{};
      for (std::size_t k = 0; k < operands.size(); ++k) offsets[k] = begin * steps[k];
      body(offsets, end - begin, steps);
    });
    return;
  }
  parallel_for(numel(merged.shape) / n, rows_grain(n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      Offsets offsets{};
      std::int64_t rest = row;
      for (int axis = inner - 1; axis >= 0; --axis) {
        const std::int64_t position = rest % merged.shape[axis];
        rest /= merged.shape[axis];
        for (std::size_t k = 0; k < operands.size(); ++k)
          offsets[k] += position * merged.strides[k][axis];
      }
      body(offsets, n, steps);
    }
  });
}

}  // namespace gradus
