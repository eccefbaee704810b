#include "gradus/engine/gemm/builtin.h"

#include <optional>

#include "gradus/engine/base/memory.h"
#include "gradus/engine/gemm/dots.h"
#include "gradus/engine/gemm/tile.h"

namespace gradus::gemm {
namespace {

// Rows of B to prefetch while packing.
constexpr std::int64_t kFetched = 16;
// Up to this number of strips (the rows of A for one tile), packing B does not pay off.
constexpr std::int64_t kFewStrips = 5;
// Maximum sizes of C for which dot products are faster than tiles.
constexpr std::int64_t kFewRows = 8, kFewColumns = 4;

/// Copies n values. For few values, memcpy would be slower.
template <class Set, class T>
GRADUS_ALWAYS_INLINE void copy_numbers(const T* from, std::int64_t n, T* to) {
  using P = Tile<Set, T>;
  std::int64_t i = 0;
  for (; i + P::lanes <= n; i += P::lanes)
    std::memcpy(to + i, from + i, sizeof(typename P::Vector));
  for (; i < n; ++i) to[i] = from[i];
}

/// Copies rows of A to a stride of `strip_stride`, or columns of a transposed A to a stride of
/// `whole_rows`. Columns are copied in full vectors while enough of the `left` rows remain.
template <class Set, class T>
GRADUS_ALWAYS_INLINE void copy_strip(const Matrix<const T>& a, std::int64_t left, T* to) {
  using P = Tile<Set, T>;
  if (!a.transposed) {
    for (std::int64_t i = 0; i < a.rows; ++i)
      copy_numbers<Set>(a.data + i * a.stride, a.columns, to + i * P::strip_stride);
    return;
  }
  for (std::int64_t p = 0; p < a.columns; ++p)
    if (left >= P::whole_rows)  // faster, because the length is a constant
      std::memcpy(to + p * P::whole_rows, a.data + p * a.stride, P::whole_rows * sizeof(T));
    else
      copy_numbers<Set>(a.data + p * a.stride, a.rows, to + p * P::whole_rows);
}

/// kernel::transpose with prefetching: the rows of a panel are too short and too far apart for the
/// hardware prefetcher.
template <class T>
GRADUS_ALWAYS_INLINE void pack_transposed(const Matrix<const T>& b, T* to, std::int64_t stride) {
  constexpr std::int64_t kBlock = kernel::kBlock, line = 64 / sizeof(T);
  const std::int64_t whole = b.rows - b.rows % kBlock;
  for (std::int64_t j = 0; j < b.columns; j += kBlock) {
    const T* x = b.data + j * b.stride;
    const bool block = j + kBlock <= b.columns;
    for (std::int64_t p = 0; p < whole && block; p += kBlock) {
      if (p % line == 0)
        for (int r = 0; r < kBlock; ++r) __builtin_prefetch(x + (kFetched + r) * b.stride + p);
      kernel::transpose_block(x + p, b.stride, to + p * stride + j, stride);
    }
    for (std::int64_t r = 0; r < std::min(kBlock, b.columns - j); ++r)
      for (std::int64_t p = block ? whole : 0; p < b.rows; ++p)
        to[p * stride + j + r] = x[r * b.stride + p];
  }
}

/// Packs a panel of B, padded with zeros to the width of a tile.
template <class Set, class T>
GRADUS_ALWAYS_INLINE void pack_panel(const Matrix<const T>& b, T* to) {
  using P = Tile<Set, T>;
  // Tiles also sum the padding, and arithmetic on zeros is fast.
  if (b.columns < P::columns) std::fill_n(to, b.rows * P::columns, T{0});
  if (b.transposed)
    pack_transposed(b, to, P::columns);
  else if (b.columns < P::columns)  // full panels are separate: their length is constant
    kernel::copy_rows(b.data, b.stride, b.rows, b.columns, to, P::columns);
  else
    for (std::int64_t p = 0; p < b.rows; ++p)
      std::memcpy(to + p * P::columns, b.data + p * b.stride, P::columns * sizeof(T));
}

/// A part of B in the layout that tiles read: packed panels, or in place.
template <class T>
struct Panels {
  const T* data;
  std::int64_t stride;  // distance between rows in a panel
  std::int64_t next;    // distance between panels
  const T* edge;        // the last panel, packed, if it is narrower than a tile
};

/// Writes one element of C. `sum` includes alpha.
template <class T>
GRADUS_ALWAYS_INLINE void write_one(const Matrix<T>& c, std::int64_t i, std::int64_t j, T sum,
                                    const Options<T>& options) {
  T* to = c.data + i * c.stride + j;
  if (options.bias != nullptr) sum += options.bias[j];
  if (options.beta != 0) sum += options.beta * *to;
  if (options.residual.data != nullptr)
    sum += options.residual.data[i * options.residual.stride + j];
  *to = sum;
}

template <class Set, bool transposed_a, class T>
GRADUS_ALWAYS_INLINE void multiply_strip(const Matrix<T>& c, const TileInput<T>& strip,
                                         const Panels<T>& b, const Options<T>& options,
                                         Prefetch<T> next) {
  using P = Tile<Set, T>;
  alignas(64) T edge[P::rows * P::columns];
  for (std::int64_t j = 0, panel = 0; j < c.columns; j += P::columns, ++panel) {
    const std::int64_t columns = std::min(P::columns, c.columns - j);
    // Tiles of other widths go through `edge`, which is slower.
    const bool whole = columns == P::columns || columns == P::lanes;
    T* to = c.at(0, j);
    TileInput<T> in = strip;
    in.b = columns < P::columns ? b.edge : b.data + panel * b.next;
    in.b_stride = columns < P::columns ? P::columns : b.stride;
    const Options<T> here = options.at(0, j), sums_alone{.alpha = options.alpha};
    multiply_rows<Set, transposed_a, static_cast<int>(P::rows)>(
        c.rows, columns, in, whole ? to : edge, whole ? c.stride : P::columns,
        whole ? here : sums_alone, next);
    next.line += next.tile;
    for (std::int64_t i = 0; !whole && i < c.rows; ++i)
      for (std::int64_t l = 0; l < columns; ++l)
        write_one(c, i, j + l, edge[i * P::columns + l], options);
  }
}

template <class Set, bool transposed_a, class T>
GRADUS_ALWAYS_INLINE void multiply_strips(const Matrix<T>& c, const Matrix<const T>& a,
                                          const Panels<T>& b, const Options<T>& options) {
  using P = Tile<Set, T>;
  alignas(64) T strip[P::whole_rows * P::strip_stride];
  std::int64_t rows = P::rows;
  for (std::int64_t i = 0; i < c.rows; i += rows) {
    while (rows > c.rows - i) rows = P::fewer(rows);
    copy_strip<Set>(a.row_range(i, i + rows), c.rows - i, strip);
    // Prefetches most of the next strip: one row per tile, or the lines where its columns end.
    Prefetch<T> next{a.at(i + rows, 0), P::fetch_interval, a.stride};
    if (transposed_a)
      next = {a.at(i + 2 * rows - 1, 0), a.stride, P::depth / P::fetch_interval * a.stride};
    const TileInput<T> in{strip, nullptr, 0, a.columns};
    multiply_strip<Set, transposed_a>(c.row_range(i, i + rows), in, b, options.at(i, 0), next);
  }
}

/// A buffer of n values, on the stack if n is small.
template <class T>
class SmallBuffer {
 public:
  explicit SmallBuffer(std::int64_t n) {
    if (n > kNear) data = far_.emplace(n).data;
  }

 private:
  static constexpr std::int64_t kNear = 32768 / sizeof(T);
  alignas(64) T near_[kNear];
  std::optional<memory::Scratch<T>> far_;

 public:
  T* data = near_;
};

/// Packs columns of B, or uses them in place if that is cheaper.
template <class Set, class T>
GRADUS_ALWAYS_INLINE Panels<T> pack(const Matrix<const T>& b, bool in_place, T* to) {
  using P = Tile<Set, T>;
  const std::int64_t whole = b.columns - b.columns % P::columns;
  T* edge = in_place ? to : to + whole * b.rows;
  for (std::int64_t j = 0; j < whole && !in_place; j += P::columns)
    pack_panel<Set>(b.block(0, j, b.rows, P::columns), to + j * b.rows);
  if (whole < b.columns) pack_panel<Set>(b.block(0, whole, b.rows, b.columns - whole), edge);
  if (in_place) return {b.data, b.stride, P::columns, edge};
  return {to, P::columns, P::columns * b.rows, edge};
}

/// Computes tiles of C, using one cache-sized part of B at a time.
template <class Set, class T>
GRADUS_ALWAYS_INLINE void tiles(const Matrix<T>& c, const Matrix<const T>& a,
                                const Matrix<const T>& b, const Options<T>& options) {
  using P = Tile<Set, T>;
  const std::int64_t k = a.columns, parts = (k + P::depth - 1) / P::depth,
                     depth = (k + parts - 1) / parts;
  const bool in_place = !b.transposed && c.rows <= kFewStrips * P::rows;
  const std::int64_t panels = (std::min(c.columns, P::panel_columns) + P::columns - 1) / P::columns;
  const SmallBuffer<T> packed(depth * P::columns * (in_place ? 1 : panels));
  for (std::int64_t j = 0; j < c.columns; j += P::panel_columns)
    for (std::int64_t p = 0; p < k; p += depth) {
      const std::int64_t columns = std::min(P::panel_columns, c.columns - j),
                         terms = std::min(depth, k - p);
      const Panels<T> right = pack<Set>(b.block(p, j, terms, columns), in_place, packed.data);
      const Matrix<T> part = c.column_range(j, j + columns);
      const Matrix<const T> left = a.column_range(p, p + terms);
      // Later passes add their terms to C.
      const Options<T> epilogue =
          p == 0 ? options.at(0, j) : Options<T>{.alpha = options.alpha, .beta = 1};
      if (a.transposed)
        multiply_strips<Set, true>(part, left, right, epilogue);
      else
        multiply_strips<Set, false>(part, left, right, epilogue);
    }
}

template <class T>
RowsOf<T> rows_of(const Matrix<const T>& few, T* space) {
  if (!few.transposed) return {few.data, few.rows, few.stride};
  for (std::int64_t i = 0; i < few.rows; ++i)
    for (std::int64_t p = 0; p < few.columns; ++p) space[i * few.columns + p] = *few.at(i, p);
  return {space, few.rows, few.columns};
}

/// The matmul on one thread. Dot products and tiles are compiled separately, so that they do not
/// compete for registers.
template <class Set, bool by_dots, class T>
GRADUS_ALWAYS_INLINE void product(Form form, const Matrix<T>& c, const Matrix<const T>& a,
                                  const Matrix<const T>& b, const Options<T>& options) {
  if constexpr (by_dots) {
    const std::int64_t k = a.columns;
    const auto write = [&](std::int64_t i, std::int64_t j, T sum) {
      write_one(c, i, j, options.alpha * sum, options);
    };
    if (form == Form::few_rows) {
      const SmallBuffer<T> space(a.transposed ? c.rows * k : 0);
      dots<Set>(k, rows_of(a, space.data), RowsOf<T>{b.data, c.columns, b.stride}, write);
    } else {
      const SmallBuffer<T> space(b.transposed ? 0 : c.columns * k);
      dots<Set>(k, rows_of(b.transpose(), space.data), RowsOf<T>{a.data, c.rows, a.stride},
                [&](std::int64_t j, std::int64_t i, T sum) { write(i, j, sum); });
    }
  } else {
    // If C and the residual are single contiguous columns, treats them as rows, so that A is read
    // in place.
    const bool is_row =
        c.columns == 1 && c.stride == 1 && options.bias == nullptr && options.residual.stride <= 1;
    tiles<Set>(is_row ? Matrix<T>(c.data, 1, c.rows) : c, is_row ? b.transpose() : a,
               is_row ? a.transpose() : b, options);
  }
}

template <bool by_dots, class T>
void baseline_product(Form form, const Matrix<T>& c, const Matrix<const T>& a,
                      const Matrix<const T>& b, const Options<T>& options) {
  product<Baseline, by_dots>(form, c, a, b, options);
}
template <bool by_dots, class T>
void emulated_product(Form form, const Matrix<T>& c, const Matrix<const T>& a,
                      const Matrix<const T>& b, const Options<T>& options) {
  if constexpr (!Baseline::fuses) product<Emulated, by_dots>(form, c, a, b, options);
}

#if GRADUS_HAS_LEVELS
template <bool by_dots, class T>
GRADUS_TARGET_AVX2 void avx2_product(Form form, const Matrix<T>& c, const Matrix<const T>& a,
                                     const Matrix<const T>& b, const Options<T>& options) {
  product<Avx2, by_dots>(form, c, a, b, options);
}
template <bool by_dots, class T>
GRADUS_TARGET_AVX512 void avx512_product(Form form, const Matrix<T>& c, const Matrix<const T>& a,
                                         const Matrix<const T>& b, const Options<T>& options) {
  product<Avx512, by_dots>(form, c, a, b, options);
}
#endif

template <bool by_dots, class T>
void product_with([[maybe_unused]] simd::Level level, Form form, const Matrix<T>& c,
                  const Matrix<const T>& a, const Matrix<const T>& b, const Options<T>& options) {
#if GRADUS_HAS_LEVELS
  if (level == simd::Level::avx512) return avx512_product<by_dots>(form, c, a, b, options);
  if (level == simd::Level::avx2) return avx2_product<by_dots>(form, c, a, b, options);
#endif
  if (emulates(level)) return emulated_product<by_dots>(form, c, a, b, options);
  baseline_product<by_dots>(form, c, a, b, options);
}

}  // namespace

template <class T>
Form form_of(const Matrix<T>& c, const Matrix<const T>& a, const Matrix<const T>& b) {
  if (b.transposed && c.rows <= kFewRows) return Form::few_rows;
  return !a.transposed && c.columns <= kFewColumns ? Form::few_columns : Form::tiles;
}

template <class T>
void builtin_product(simd::Level level, Form form, const Matrix<T>& c, const Matrix<const T>& a,
                     const Matrix<const T>& b, const Options<T>& options) {
  if (form == Form::tiles) return product_with<false>(level, form, c, a, b, options);
  product_with<true>(level, form, c, a, b, options);
}

template decltype(form_of<float>) form_of<float>;
template decltype(form_of<double>) form_of<double>;
template decltype(builtin_product<float>) builtin_product<float>;
template decltype(builtin_product<double>) builtin_product<double>;

}  // namespace gradus::gemm
