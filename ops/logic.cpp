// Comparisons and logic: what they give is true or false, and has no derivative.

#include "gradus/ops/logic.h"

#include <algorithm>
#include <atomic>

#include "gradus/base/parallel.h"
#include "gradus/engine/apply.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/kernels/map.h"

namespace gradus {
namespace {

struct Equals {
  static constexpr const char* kName = "equal";
  template <class T>
  GRADUS_INLINE bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Differs {
  static constexpr const char* kName = "not_equal";
  template <class T>
  GRADUS_INLINE bool operator()(T a, T b) const {
    return a != b;
  }
};
struct Below {
  static constexpr const char* kName = "less";
  template <class T>
  GRADUS_INLINE bool operator()(T a, T b) const {
    return a < b;
  }
};
struct AtMost {
  static constexpr const char* kName = "less_equal";
  template <class T>
  GRADUS_INLINE bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Above {
  static constexpr const char* kName = "greater";
  template <class T>
  GRADUS_INLINE bool operator()(T a, T b) const {
    return a > b;
  }
};
struct AtLeast {
  static constexpr const char* kName = "greater_equal";
  template <class T>
  GRADUS_INLINE bool operator()(T a, T b) const {
    return a >= b;
  }
};

}  // namespace

namespace op {

template <class Relation>
struct Compare final : Op {
  const char* name() const override { return Relation::kName; }

  Tensor forward(const Tensor& a, const Tensor& b) {
    check_pair(name(), a, b);
    Tensor y = empty_for(name(), a, b, Dtype::bool_);
    dispatch_number(name(), a.dtype(), [&]<class T>() { zip_into<T, bool>(y, a, b, Relation{}); });
    return y;
  }
};

template <class Relation>
struct CompareNumber final : Op {
  double number;

  explicit CompareNumber(double number) : number(number) {}
  const char* name() const override { return Relation::kName; }

  Tensor forward(const Tensor& x) {
    check_defined(name(), x);
    Tensor y = Tensor::empty(x.shape(), Dtype::bool_);
    dispatch_number(name(), x.dtype(), [&]<class T>() {
      // A number takes the tensor's dtype, but integers are compared with 2.5 itself.
      using Common = std::conditional_t<std::is_same_v<T, float>, float, double>;
      const Common c = static_cast<Common>(number);
      map_into<T, bool>(y, x, [c](auto v) { return Relation{}(static_cast<Common>(v), c); });
    });
    return y;
  }
};

struct LogicalAnd final : Op {
  const char* name() const override { return "logical_and"; }
  Tensor forward(const Tensor& a, const Tensor& b) {
    Tensor y = empty_for(name(), a, b, Dtype::bool_);
    zip_into<bool>(y, a, b, [](bool u, bool v) { return u && v; });
    return y;
  }
};

struct LogicalOr final : Op {
  const char* name() const override { return "logical_or"; }
  Tensor forward(const Tensor& a, const Tensor& b) {
    Tensor y = empty_for(name(), a, b, Dtype::bool_);
    zip_into<bool>(y, a, b, [](bool u, bool v) { return u || v; });
    return y;
  }
};

struct LogicalXor final : Op {
  const char* name() const override { return "logical_xor"; }
  Tensor forward(const Tensor& a, const Tensor& b) {
    Tensor y = empty_for(name(), a, b, Dtype::bool_);
    zip_into<bool>(y, a, b, [](bool u, bool v) { return u != v; });
    return y;
  }
};

struct LogicalNot final : Op {
  const char* name() const override { return "logical_not"; }
  Tensor forward(const Tensor& x) {
    Tensor y = Tensor::empty_like(x);
    map_into<bool>(y, x, [](bool v) { return !v; });
    return y;
  }
};

struct IsFinite final : Op {
  const char* name() const override { return "isfinite"; }
  Tensor forward(const Tensor& x) {
    Tensor y = Tensor::empty(x.shape(), Dtype::bool_);
    dispatch_float(name(), x.dtype(), [&]<class T>() {
      map_into<T, bool>(y, x, [](auto v) { return v - v == 0; });  // NaN for ±∞ and NaN
    });
    return y;
  }
};

struct IsNan final : Op {
  const char* name() const override { return "isnan"; }
  Tensor forward(const Tensor& x) {
    Tensor y = Tensor::empty(x.shape(), Dtype::bool_);
    dispatch_float(name(), x.dtype(),
                   [&]<class T>() { map_into<T, bool>(y, x, [](auto v) { return v != v; }); });
    return y;
  }
};

/// All (every = true): is there no false along the axis? Any: is there a true?
struct Quantifier final : Op {
  bool every;
  int axis;
  bool keepdim;

  Quantifier(bool every, int axis, bool keepdim) : every(every), axis(axis), keepdim(keepdim) {}
  const char* name() const override { return every ? "all" : "any"; }

  Tensor forward(const Tensor& input) {
    const Tensor x = kernel::contiguous(input);
    Shape shape = x.shape();
    std::int64_t outer = 1, inner = 1;
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
    const std::int64_t n = shape[axis];
    if (keepdim)
      shape[axis] = 1;
    else
      shape.erase(axis);
    Tensor y = Tensor::empty(shape, Dtype::bool_);
    const bool* from = x.data<bool>();
    bool* to = y.mutable_data<bool>();
    parallel_for(outer, rows_grain(n * inner), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t o = begin; o < end; ++o) {
        bool* row = to + o * inner;
        std::fill_n(row, inner, every);
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t c = 0; c < inner; ++c)
            if (from[(o * n + i) * inner + c] != every) row[c] = !every;
      }
    });
    return y;
  }
};

}  // namespace op

namespace {

Tensor combine(auto op, const Tensor& a, const Tensor& b) {
  check_bool(op.name(), a);
  check_bool(op.name(), b);
  return apply(std::move(op), a, b);
}

Tensor quantify(bool every, const Tensor& x, int axis, bool keepdim) {
  const char* name = every ? "all" : "any";
  check_bool(name, x);
  return apply(op::Quantifier{every, normal_axis(name, axis, x.rank()), keepdim}, x);
}

/// Is `wanted` among the elements?
bool contains(const char* op, const Tensor& input, bool wanted) {
  check_bool(op, input);
  const Tensor x = kernel::contiguous(input);
  const bool* first = x.data<bool>();
  std::atomic<bool> found = false;
  parallel_for(x.numel(), 8 * kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
    if (!found && std::find(first + begin, first + end, wanted) != first + end) found = true;
  });
  return found;
}

}  // namespace

Tensor equal(const Tensor& a, const Tensor& b) { return apply(op::Compare<Equals>{}, a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) { return apply(op::Compare<Differs>{}, a, b); }
Tensor less(const Tensor& a, const Tensor& b) { return apply(op::Compare<Below>{}, a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) { return apply(op::Compare<AtMost>{}, a, b); }
Tensor greater(const Tensor& a, const Tensor& b) { return apply(op::Compare<Above>{}, a, b); }
Tensor greater_equal(const Tensor& a, const Tensor& b) {
  return apply(op::Compare<AtLeast>{}, a, b);
}
Tensor equal(const Tensor& a, double b) { return apply(op::CompareNumber<Equals>{b}, a); }
Tensor not_equal(const Tensor& a, double b) { return apply(op::CompareNumber<Differs>{b}, a); }
Tensor less(const Tensor& a, double b) { return apply(op::CompareNumber<Below>{b}, a); }
Tensor less_equal(const Tensor& a, double b) { return apply(op::CompareNumber<AtMost>{b}, a); }
Tensor greater(const Tensor& a, double b) { return apply(op::CompareNumber<Above>{b}, a); }
Tensor greater_equal(const Tensor& a, double b) { return apply(op::CompareNumber<AtLeast>{b}, a); }

Tensor logical_and(const Tensor& a, const Tensor& b) { return combine(op::LogicalAnd{}, a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return combine(op::LogicalOr{}, a, b); }
Tensor logical_xor(const Tensor& a, const Tensor& b) { return combine(op::LogicalXor{}, a, b); }

Tensor logical_not(const Tensor& x) {
  check_bool("logical_not", x);
  return apply(op::LogicalNot{}, x);
}

Tensor isfinite(const Tensor& x) {
  check_defined("isfinite", x);
  return apply(op::IsFinite{}, x);
}

Tensor isnan(const Tensor& x) {
  check_defined("isnan", x);
  return apply(op::IsNan{}, x);
}

bool all(const Tensor& x) { return !contains("all", x, false); }
bool any(const Tensor& x) { return contains("any", x, true); }
Tensor all(const Tensor& x, int axis, bool keepdim) { return quantify(true, x, axis, keepdim); }
Tensor any(const Tensor& x, int axis, bool keepdim) { return quantify(false, x, axis, keepdim); }

}  // namespace gradus
