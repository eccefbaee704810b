// Causal, length (padding, prefix) and dense masks, and combinations of masks.
#include "gradus/ops/mask/mask.h"

#include <algorithm>

#include "gradus/engine/strided.h"
#include "gradus/ops/mask/rule.h"

namespace gradus {
namespace {

/// Sets allowed[j] = j < visible for n keys.
void allow_first(std::int64_t visible, std::int64_t n, bool* allowed) {
  visible = std::clamp<std::int64_t>(visible, 0, n);
  std::fill_n(allowed, visible, true);
  std::fill(allowed + visible, allowed + n, false);
}

class Causal final : public Mask::Rule {
 public:
  explicit Causal(std::int64_t offset) : offset_(offset) {}

  void row(const QueryKey& first, std::int64_t n, bool* allowed) const override {
    allow_first(first.query + offset_ - first.key + 1, n, allowed);
  }
  Coverage coverage(const MaskBlock& b) const override {
    if (b.last_key - 1 <= b.first_query + offset_) return Coverage::all;
    return b.first_key > b.last_query - 1 + offset_ ? Coverage::none : Coverage::some;
  }
  std::string describe() const override {
    return offset_ == 0 ? "causal" : "causal, offset " + std::to_string(offset_);
  }

 private:
  std::int64_t offset_;
};

/// Allows the keys before a length. Each example has its own length, or all share one.
class Lengths final : public Mask::Rule {
 public:
  Lengths(const char* what, std::vector<std::int64_t> lengths, bool one)
      : what_(what), lengths_(std::move(lengths)), one_(one) {}

  void row(const QueryKey& first, std::int64_t n, bool* allowed) const override {
    allow_first(length(first.example) - first.key, n, allowed);
  }
  Coverage coverage(const MaskBlock& b) const override {
    if (b.last_key <= length(b.example)) return Coverage::all;
    return b.first_key >= length(b.example) ? Coverage::none : Coverage::some;
  }
  void check_sizes(const MaskSizes& sizes, bool whole) const override {
    const std::int64_t have = std::ssize(lengths_);
    require<ShapeError>(one_ || (whole ? have == sizes.examples : have >= sizes.examples), what_,
                        "_mask: got ", have, " lengths for a batch of ", sizes.examples,
                        ". Pass one length per example.");
    for (const std::int64_t length : lengths_)
      require(0 <= length && (length <= sizes.keys || !whole), what_, "_mask: a length of ", length,
              " is out of range for ", sizes.keys, " keys. Use 0 to ", sizes.keys, ".");
  }
  std::string describe() const override {
    const std::string what = what_ == std::string("padding") ? "lengths " : "prefix ";
    const auto shown = std::span(lengths_).first(std::min<std::size_t>(kMaxRank, lengths_.size()));
    return what + (one_ ? std::to_string(lengths_[0]) : to_string(shown));
  }

 private:
  std::int64_t length(std::int64_t example) const {
    return lengths_[one_ ? 0 : static_cast<std::size_t>(example)];
  }
  const char* what_;
  std::vector<std::int64_t> lengths_;
  bool one_;
};

class Dense final : public Mask::Rule {
 public:
  explicit Dense(const Tensor& allowed) : allowed_(kernel::copy(allowed)), shape_(allowed.shape()) {
    if (shape_.rank() == 3) shape_.insert(1, 1);
    while (shape_.rank() < 4) shape_.insert(0, 1);
  }

  void row(const QueryKey& first, std::int64_t n, bool* allowed) const override {
    std::copy_n(at(first.example, first.head, first.query) + first.key, n, allowed);
  }
  Coverage coverage(const MaskBlock& b) const override {
    bool any = false, all = true;
    for (std::int64_t i = b.first_query; i < b.last_query && (all || !any); ++i) {
      const bool* row = at(b.example, b.head, i);
      for (std::int64_t j = b.first_key; j < b.last_key; ++j) {
        any |= row[j];
        all &= row[j];
      }
    }
    return all ? Coverage::all : any ? Coverage::some : Coverage::none;
  }
  void check_sizes(const MaskSizes& s, bool whole) const override {
    const auto fits = [&](int axis, std::int64_t size) {
      return (axis < 2 && shape_[axis] == 1) ||
             (whole ? shape_[axis] == size : shape_[axis] >= size);
    };
    require<ShapeError>(
        fits(0, s.examples) && fits(1, s.heads) && fits(2, s.queries) && fits(3, s.keys),
        "dense_mask: a mask for [batch, heads, queries, keys] = ", shape_, " does not fit ",
        Shape{s.examples, s.heads, s.queries, s.keys}, ". ",
        whole ? advice(s) : "It has no values for later positions.");
  }
  std::string describe() const override { return "dense " + to_string(shape_); }

 private:
  const char* advice(const MaskSizes& s) const {
    const std::int64_t rows = shape_[2], columns = shape_[3];
    if (rows != s.queries && rows == s.keys && columns == s.queries)
      return "Rows are queries and columns are keys. Use transpose().";
    if (rows != s.queries && rows == s.examples && columns == s.keys)
      return "For padding, one row per example, use padding_mask(lengths).";
    if (rows == 1 && columns == s.keys)
      return "Queries are not repeated. Use padding_mask(lengths) or expand().";
    return "Batch and heads may be 1, all other sizes must be equal.";
  }
  const bool* at(std::int64_t example, std::int64_t head, std::int64_t query) const {
    const std::int64_t b = shape_[0] == 1 ? 0 : example, h = shape_[1] == 1 ? 0 : head;
    return allowed_.data<bool>() + ((b * shape_[1] + h) * shape_[2] + query) * shape_[3];
  }
  Tensor allowed_;
  Shape shape_;  // [B or 1, H or 1, T, S]
};

class Combined final : public Mask::Rule {
 public:
  Combined(std::shared_ptr<const Rule> a, std::shared_ptr<const Rule> b, bool both)
      : a_(std::move(a)), b_(std::move(b)), both_(both) {}

  void row(const QueryKey& first, std::int64_t n, bool* allowed) const override {
    constexpr std::int64_t kPiece = 256;
    bool other[kPiece];
    a_->row(first, n, allowed);
    for (std::int64_t from = 0; from < n; from += kPiece) {
      const std::int64_t count = std::min(kPiece, n - from);
      b_->row({first.example, first.head, first.query, first.key + from}, count, other);
      for (std::int64_t j = 0; j < count; ++j)
        allowed[from + j] = both_ ? allowed[from + j] && other[j] : allowed[from + j] || other[j];
    }
  }
  Coverage coverage(const MaskBlock& block) const override {
    const Coverage a = a_->coverage(block), b = b_->coverage(block);
    const Coverage decides = both_ ? Coverage::none : Coverage::all;  // decides if one side has it
    if (a == decides || b == decides) return decides;
    return b == Coverage::some ? b : a;
  }
  void check_sizes(const MaskSizes& sizes, bool whole) const override {
    a_->check_sizes(sizes, whole);
    b_->check_sizes(sizes, whole);
  }
  std::string describe() const override {
    return "(" + a_->describe() + (both_ ? " & " : " | ") + b_->describe() + ")";
  }

 private:
  std::shared_ptr<const Rule> a_, b_;
  bool both_;
};

/// True if `allowed` [T, T] is true exactly above the diagonal: a causal mask in which true hides.
/// Returns false for T < 3, where the pattern may be a coincidence, and for [1, T, T].
bool only_later(const Tensor& allowed) {
  if (allowed.rank() != 2 || allowed.size(0) != allowed.size(1) || allowed.size(0) < 3)
    return false;
  const bool* at = allowed.data<bool>();
  const std::int64_t n = allowed.size(0);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      if (at[i * allowed.strides()[0] + j * allowed.strides()[1]] != (j > i)) return false;
  return true;
}

}  // namespace

bool Mask::allows(const QueryKey& pair) const {
  bool allowed = false;
  row(pair, 1, &allowed);
  return allowed;
}

void Mask::row(const QueryKey& first, std::int64_t n, bool* allowed) const {
  if (rule_)
    rule_->row(first, n, allowed);
  else
    std::fill_n(allowed, n, true);
}

Coverage Mask::coverage(const MaskBlock& block) const {
  if (block.first_query >= block.last_query || block.first_key >= block.last_key)
    return Coverage::none;
  return rule_ ? rule_->coverage(block) : Coverage::all;
}

void Mask::check_sizes(const MaskSizes& sizes, bool whole) const {
  if (rule_) rule_->check_sizes(sizes, whole);
}

Tensor Mask::dense(const MaskSizes& sizes) const {
  check_sizes(sizes);
  Tensor out =
      Tensor::empty({sizes.examples, sizes.heads, sizes.queries, sizes.keys}, Dtype::bool_);
  bool* to = out.mutable_data<bool>();
  for (std::int64_t b = 0; b < sizes.examples; ++b)
    for (std::int64_t h = 0; h < sizes.heads; ++h)
      for (std::int64_t i = 0; i < sizes.queries; ++i, to += sizes.keys)
        row({b, h, i, 0}, sizes.keys, to);
  return out;
}

std::string Mask::describe() const { return rule_ ? rule_->describe() : "everything"; }

std::string Mask::picture(std::int64_t queries, std::int64_t keys, std::int64_t example,
                          std::int64_t head) const {
  check_sizes({example + 1, head + 1, queries, keys}, false);
  std::string out;
  for (std::int64_t i = 0; i < queries; ++i) {
    for (std::int64_t j = 0; j < keys; ++j) out += allows({example, head, i, j}) ? '#' : '.';
    out += '\n';
  }
  return out;
}

Mask operator&(const Mask& a, const Mask& b) {
  if (!a.rule_ || !b.rule_) return a.rule_ ? a : b;
  return Mask(std::make_shared<Combined>(a.rule_, b.rule_, true));
}

Mask operator|(const Mask& a, const Mask& b) {
  if (!a.rule_ || !b.rule_) return {};
  return Mask(std::make_shared<Combined>(a.rule_, b.rule_, false));
}

Mask causal_mask(std::int64_t offset) { return Mask(std::make_shared<Causal>(offset)); }

Mask causal_lower_right(std::int64_t queries, std::int64_t keys) {
  require(queries >= 0 && keys >= 0,
          "causal_lower_right: queries and keys must not be negative, got ", queries, " and ",
          keys);
  return causal_mask(keys - queries);
}

Mask padding_mask(std::vector<std::int64_t> lengths) {
  return Mask(std::make_shared<Lengths>("padding", std::move(lengths), false));
}

Mask prefix_mask(std::int64_t length) {
  return Mask(std::make_shared<Lengths>("prefix", std::vector{length}, true));
}

Mask prefix_mask(std::vector<std::int64_t> lengths) {
  return Mask(std::make_shared<Lengths>("prefix", std::move(lengths), false));
}

Mask dense_mask(const Tensor& allowed) {
  require<DtypeError>(allowed.defined() && allowed.dtype() == Dtype::bool_,
                      "dense_mask: expected a bool tensor (true = may attend), got ",
                      allowed.defined() ? name_of(allowed.dtype()) : "an undefined one",
                      ". Use a comparison such as greater(x, 0), or pass additive scores ",
                      "as AttentionOptions::bias.");
  require<ShapeError>(
      2 <= allowed.rank() && allowed.rank() <= 4, "dense_mask: the mask must be ",
      "[queries, keys], [batch, queries, keys] or [batch, heads, queries, keys], got ",
      allowed.shape());
  require(!only_later(allowed),
          "dense_mask: the mask looks inverted, because each query may attend only ",
          "to later keys (true = may attend). Use logical_not() or causal_mask().");
  return Mask(std::make_shared<Dense>(allowed));
}

std::ostream& operator<<(std::ostream& out, const Mask& mask) { return out << mask.describe(); }

}  // namespace gradus
