#include "gradus/ops/create.h"

#include <algorithm>
#include <cmath>

#include "gradus/engine/base/parallel.h"
#include "gradus/engine/base/platform.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/base/simd.h"
#include "gradus/engine/base/version.h"
#include "gradus/engine/gemm/backend.h"
#include "gradus/engine/gemm/library.h"
#include "gradus/engine/strided.h"

namespace gradus {
namespace {

template <class F>
Tensor fill_with(const Shape& shape, Dtype dtype, F f) {
  Tensor y = Tensor::empty(shape, dtype);
  dispatch(dtype, [&]<class T>() {
    T* out = y.mutable_data<T>();
    parallel_for(y.numel(), kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) out[i] = static_cast<T>(f(i));
    });
  });
  return y;
}

template <class T>
void check_count(const char* name, std::span<T> values, const Shape& shape) {
  require<ShapeError>(std::ssize(values) == numel(shape), name, ": ", values.size(),
                      " values do not fill shape ", shape, " of ", numel(shape),
                      " elements. Pass one value per element.");
}

using Rows = std::initializer_list<std::initializer_list<double>>;

Tensor blocks_of(std::span<const Rows> blocks, Dtype dtype) {
  const std::size_t m = blocks.empty() ? 0 : blocks[0].size(),
                    n = m ? blocks[0].begin()->size() : 0;
  std::vector<double> values;
  for (const Rows& block : blocks) {
    require<ShapeError>(block.size() == m, "tensor: a block has ", block.size(),
                        " rows but the first has ", m, ". Make all blocks equal.");
    for (const std::initializer_list<double>& row : block) {
      require<ShapeError>(row.size() == n, "tensor: a row has ", row.size(),
                          " values but the first has ", n, ". Make all rows equally long.");
      values.insert(values.end(), row.begin(), row.end());
    }
  }
  const Shape shape = {std::ssize(blocks), static_cast<std::int64_t>(m),
                       static_cast<std::int64_t>(n)};
  return kernel::convert(tensor(values, shape), dtype);
}

}  // namespace

Tensor full(const Shape& shape, Scalar value, Dtype dtype) {
  return Tensor::empty(shape, dtype).fill_(value);
}
Tensor zeros(const Shape& shape, Dtype dtype) { return full(shape, 0, dtype); }
Tensor ones(const Shape& shape, Dtype dtype) { return full(shape, 1, dtype); }
Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype()); }
Tensor randn_like(const Tensor& x) { return randn(x.shape(), x.dtype()); }
Tensor ones_like(const Tensor& x) { return ones(x.shape(), x.dtype()); }

Tensor eye(std::int64_t n, Dtype dtype) {
  return fill_with({n, n}, dtype, [n](std::int64_t i) { return i / n == i % n; });
}

Tensor arange(double start, double stop, double step, Dtype dtype) {
  require(std::isfinite((stop - start) / step), "arange: the number of steps from ", start, " to ",
          stop, " by ", step, " is not finite. Pass finite bounds and a nonzero step.");
  const auto n = static_cast<std::int64_t>(std::max(0.0, std::ceil((stop - start) / step)));
  return fill_with({n}, dtype,
                   [=](std::int64_t i) { return start + static_cast<double>(i) * step; });
}

Tensor arange_i64(std::int64_t start, std::int64_t stop, std::int64_t step) {
  require(step != 0, "arange: step must not be 0, got a range from ", start, " to ", stop);
  // Distances may be up to 2⁶⁴ − 1, so use unsigned arithmetic.
  const auto first = static_cast<std::uint64_t>(start), end = static_cast<std::uint64_t>(stop),
             by = static_cast<std::uint64_t>(step);
  const bool rises = step > 0, is_empty = rises ? stop <= start : stop >= start;
  const std::uint64_t distance = rises ? end - first : first - end, length = rises ? by : 0 - by;
  const std::uint64_t n = is_empty ? 0 : (distance - 1) / length + 1;
  require<MemoryError>(n < std::uint64_t{1} << 47, "arange: ", n, " elements from ", start, " to ",
                       stop, " do not fit in any memory. Use a larger step.");
  return fill_with({static_cast<std::int64_t>(n)}, Dtype::i64, [=](std::int64_t i) {
    return static_cast<std::int64_t>(first + static_cast<std::uint64_t>(i) * by);
  });
}

Tensor arange(std::int64_t stop) {
  return fill_with({stop}, Dtype::i64, [](std::int64_t i) { return i; });
}

Tensor linspace(double first, double last, std::int64_t n, Dtype dtype) {
  return fill_with({n}, dtype, [=](std::int64_t i) {
    if (i == 0) return first;
    if (i == n - 1) return last;  // without rounding error
    return first + (last - first) * static_cast<double>(i) / static_cast<double>(n - 1);
  });
}

Tensor rand(const Shape& shape, Dtype dtype) {
  require<DtypeError>(is_float(dtype), "rand: expected f32 or f64, got ", dtype);
  const RandomStream random = generator().next();
  if (dtype == Dtype::f64)
    return fill_with(shape, dtype, [&](std::int64_t i) { return random.uniform(i); });
  // Uses 24 bits, so that the maximum, 1 − 2⁻²⁴, is exact in f32.
  return fill_with(shape, dtype, [&](std::int64_t i) {
    return static_cast<float>(random.word(i) >> 8) * 0x1p-24f;
  });
}

Tensor randn(const Shape& shape, Dtype dtype) {
  require<DtypeError>(is_float(dtype), "randn: expected f32 or f64, got ", dtype);
  const RandomStream random = generator().next();
  return fill_with(shape, dtype, [&](std::int64_t i) { return random.normal(i); });
}

Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape) {
  require(low < high, "randint: the range [", low, ", ", high, ") is empty. Pass low < high.");
  const RandomStream random = generator().next();
  return fill_with(shape, Dtype::i64,
                   [&](std::int64_t i) { return low + random.below(i, high - low); });
}

Tensor randperm(std::int64_t n) {
  Tensor y = arange(n);
  const RandomStream random = generator().next();
  auto* order = y.mutable_data<std::int64_t>();
  for (std::int64_t i = n - 1; i > 0; --i) std::swap(order[i], order[random.below(i, i + 1)]);
  return y;
}

Tensor tensor(Scalar value, Dtype dtype) { return full({}, value, dtype); }

Tensor tensor(std::initializer_list<double> values, Dtype dtype) {
  return kernel::convert(tensor(std::vector(values)), dtype);
}

Tensor tensor(std::initializer_list<std::initializer_list<double>> rows, Dtype dtype) {
  return blocks_of({&rows, 1}, dtype).squeeze(0);
}

Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<double>>> blocks,
              Dtype dtype) {
  return blocks_of({blocks.begin(), blocks.size()}, dtype);
}

Tensor indices(std::initializer_list<std::int64_t> values) { return tensor(std::vector(values)); }

template <class T>
Tensor tensor(std::span<const T> values, const Shape& shape) {
  check_count("tensor", values, shape);
  Tensor y = Tensor::empty(shape, dtype_of<T>);
  std::copy(values.begin(), values.end(), y.mutable_data<T>());
  return y;
}
template Tensor tensor(std::span<const float>, const Shape&);
template Tensor tensor(std::span<const double>, const Shape&);
template Tensor tensor(std::span<const std::int64_t>, const Shape&);
template Tensor tensor(std::span<const bool>, const Shape&);

template <class T>
Tensor borrow(std::span<T> values, const Shape& shape, std::shared_ptr<const void> owner) {
  check_count("borrow", values, shape);
  return kernel::over(
      std::make_shared<Storage>(values.data(), values.size_bytes(), std::move(owner)), shape,
      dtype_of<T>);
}
template Tensor borrow(std::span<float>, const Shape&, std::shared_ptr<const void>);
template Tensor borrow(std::span<double>, const Shape&, std::shared_ptr<const void>);
template Tensor borrow(std::span<std::int64_t>, const Shape&, std::shared_ptr<const void>);
template Tensor borrow(std::span<bool>, const Shape&, std::shared_ptr<const void>);

std::string matmul_backend() { return gemm::describe(); }

std::string config() {
  return str_cat("gradus ", version(), "\nthreads: ", num_threads(), " of ",
                 platform::usable_cores(), " usable cores\nmatmul backend: ", matmul_backend(),
                 "\nlibrary: ", gemm::describe_library(), "\nkernels: ", simd::name(simd::level()),
                 " of ", simd::name(simd::widest()), "\nsystem: ", platform::system_name(),
                 "\ncompiler: ", __VERSION__, "\n");
}

}  // namespace gradus
