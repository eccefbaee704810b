#include "gradus/engine/shape.h"

#include <algorithm>
#include <limits>

namespace gradus {

template <class Self>
Dims<Self>::Dims(std::span<const std::int64_t> numbers) {
  for (const std::int64_t number : numbers) push_back(number);
}

template <class Self>
Self Dims<Self>::filled(int rank, std::int64_t value) {
  Self dims;
  for (int i = 0; i < rank; ++i) dims.push_back(value);
  return dims;
}

template <class Self>
void Dims<Self>::insert(int axis, std::int64_t number) {
  require<ShapeError>(rank_ < kMaxRank, "a tensor has at most ", kMaxRank,
                      " axes, so none can be added to ", *this, ". Merge axes first.");
  assert(0 <= axis && axis <= rank_);
  std::copy_backward(begin() + axis, end(), numbers_.data() + rank_ + 1);
  ++rank_;
  (*this)[axis] = number;
}

template <class Self>
void Dims<Self>::erase(int axis) {
  assert(0 <= axis && axis < rank_);
  std::copy(begin() + axis + 1, end(), numbers_.data() + axis);
  (*this)[rank_ - 1] = 0;
  --rank_;
}

template class Dims<Shape>;
template class Dims<Strides>;
template class Dims<Axes>;

std::string to_string(std::span<const std::int64_t> numbers) {
  std::string out = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i)
    out += (i ? ", " : "") + std::to_string(numbers[i]);
  return out + "]";
}

std::int64_t numel(const Shape& shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t size : shape) {
    require<ShapeError>(size >= 0, "shape ", shape, " has a negative size, ", size,
                        ". Sizes must be at least 0.");
    if (size == 0)
      empty = true;
    else if (count > std::numeric_limits<std::int64_t>::max() / size)
      fail<ShapeError>("shape ", shape, " has more than 2^63 - 1 elements. Use smaller sizes.");
    else
      count *= size;
  }
  return empty ? 0 : count;
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides{std::span<const std::int64_t>(shape)};
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

int normalize_axis(const char* op, int axis, int rank) {
  require<IndexError>(rank > 0, op, ": axis ", axis, " is out of range because the tensor is a ",
                      "scalar. Pass a tensor with at least one axis.");
  require<IndexError>(-rank <= axis && axis < rank, op, ": axis ", axis,
                      " is out of range for a tensor with ", rank, rank == 1 ? " axis" : " axes",
                      ". Use ", -rank, " to ", rank - 1, ".");
  return axis < 0 ? axis + rank : axis;
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b) {
  if (a == b) return a;  // fast path
  Shape out = a.rank() >= b.rank() ? a : b;
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    const std::int64_t m = a[a.rank() - i], n = b[b.rank() - i];
    require<ShapeError>(m == n || m == 1 || n == 1, op, ": shapes ", a, " and ", b,
                        " do not broadcast: axis ", -i, " has sizes ", m, " and ", n,
                        ". Sizes must be equal, or one of them 1.");
    out[out.rank() - i] = m == 1 ? n : m;
  }
  return out;
}

Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& target) {
  Strides out = Strides::filled(target.rank(), 0);
  const int missing = target.rank() - shape.rank();
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] != 1 || target[i + missing] == 1) out[i + missing] = strides[i];
  return out;
}

Shape unravel_index(std::int64_t i, const Shape& shape) {
  Shape at = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    at[axis] = i % shape[axis];
    i /= shape[axis];
  }
  return at;
}

}  // namespace gradus
