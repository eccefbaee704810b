// einsum: sums, reorders and merges axes, then calls matmul if both operands share a summed letter,
// and multiply otherwise. Composed of public ops, so derivatives of any order exist.
//
// The axes of "..." are named by digits, counted from the right: '0' is the last.
#include "gradus/ops/einsum.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/kernels/checks.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/shape_ops.h"

namespace gradus {
namespace {

bool in(const std::string& letters, char c) { return letters.find(c) != std::string::npos; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
std::int64_t count_dots(const std::string& letters) {
  return std::ssize(letters) - std::count_if(letters.begin(), letters.end(), is_letter);
}

struct Formula {
  std::vector<std::string> operands;
  std::string result;
};

Formula parse(std::string_view formula, std::size_t operands) {
  std::string spelled(formula);
  std::erase(spelled, ' ');
  const std::size_t arrow = spelled.find("->");
  require(arrow != std::string::npos, "einsum: \"", formula,
          "\" has no \"->\". Append \"->\" and the ", "letters of the result.");
  Formula out{{}, spelled.substr(arrow + 2)};
  std::string left = spelled.substr(0, arrow) + ",";
  for (std::size_t comma; (comma = left.find(',')) != std::string::npos; left.erase(0, comma + 1))
    out.operands.push_back(left.substr(0, comma));
  require(out.operands.size() == operands, "einsum: \"", formula, "\" is for ", out.operands.size(),
          " tensors but got ", operands, ". Pass one tensor per term.");
  return out;
}

/// Returns `term` with "..." replaced by `dots` digits; the last axis is '0'.
std::string spell(std::string_view formula, std::string term, std::int64_t dots) {
  std::string digits;
  for (std::int64_t i = dots; i-- > 0;) digits += static_cast<char>('0' + i);
  const std::size_t at = term.find("...");
  if (at != std::string::npos) term.erase(at, 3);
  for (std::size_t i = 0; i < term.size(); ++i) {
    require(is_letter(term[i]), "einsum: '", term[i], "' in \"", formula,
            "\" is not a letter. Name axes a to z or A to Z, with \"...\" for the others.");
    require(term.find(term[i], i + 1) == std::string::npos, "einsum: '", term[i],
            "' appears twice in \"", term, "\" of \"", formula, "\". Diagonals are not supported.");
  }
  return at == std::string::npos ? term : term.insert(at, digits);
}

std::string letters_of(std::string_view formula, const std::string& term, const Tensor& x,
                       int number) {
  require(x.defined(), "einsum: operand ", number, " is undefined. Pass a defined tensor.");
  const bool dots = term.find("...") != std::string::npos;
  const auto named = static_cast<std::int64_t>(term.size()) - (dots ? 3 : 0);
  require<ShapeError>(dots ? x.rank() >= named : x.rank() == named, "einsum: \"", term, "\" names ",
                      named, " axes, but operand ", number, " is ", x.shape(),
                      ". Write one letter per axis.");
  return spell(formula, term, x.rank() - named);
}

/// Brings x from axes `have` to `want`: sums unwanted axes and inserts missing ones with size 1.
Tensor arranged(Tensor x, std::string have, const std::string& want) {
  Axes gone, order;
  for (std::size_t i = have.size(); i-- > 0;)
    if (!in(want, have[i])) gone.push_back(static_cast<std::int64_t>(i));
  if (gone.rank() > 0) x = sum(x, gone);
  std::erase_if(have, [&](char c) { return !in(want, c); });
  for (const char c : want)
    if (in(have, c)) order.push_back(static_cast<std::int64_t>(have.find(c)));
  x = permute(x, order);
  for (std::size_t i = 0; i < want.size(); ++i)
    if (!in(have, want[i])) x = unsqueeze(x, static_cast<int>(i));
  return x;
}

/// Merges `m` and `n` axes that follow the batch axes: [batch…, M, N].
Tensor as_matrices(const Tensor& x, std::size_t batch, std::size_t m, std::size_t n) {
  const std::span<const std::int64_t> sizes(x.shape());
  Shape shape(sizes.first(batch));
  shape.push_back(numel(Shape(sizes.subspan(batch, m))));
  shape.push_back(numel(Shape(sizes.subspan(batch + m, n))));
  return reshape(x, shape);
}

void check_sizes(std::string_view formula, const std::string& la, const Tensor& a,
                 const std::string& lb, const Tensor& b) {
  for (const char c : la) {
    if (!in(lb, c)) continue;
    const std::int64_t m = a.shape()[static_cast<int>(la.find(c))],
                       n = b.shape()[static_cast<int>(lb.find(c))];
    const bool letter = is_letter(c);
    require<ShapeError>(m == n || (!letter && (m == 1 || n == 1)), "einsum: in \"", formula, "\" ",
                        letter ? std::string("'") + c + "'" : std::string("an axis of \"...\""),
                        " is ", m, " in the first operand ", a.shape(), " but ", n,
                        " in the second ", b.shape(), ". The sizes must be equal.");
  }
}

void check_result(std::string_view formula, const std::string& result, const std::string& have) {
  for (const char c : result)
    require(in(have, c), "einsum: '", c, "' of the result does not appear in an operand of \"",
            formula, "\". Use letters of the operands.");
  for (const char c : have)
    require(is_letter(c) || in(result, c), "einsum: \"", formula,
            "\" has \"...\" in an operand but not in the result. Add it to the result.");
}

}  // namespace

Tensor einsum(std::string_view formula, const Tensor& a) {
  const Formula parts = parse(formula, 1);
  const std::string la = letters_of(formula, parts.operands[0], a, 1);
  const std::string result = spell(formula, parts.result, count_dots(la));
  check_result(formula, result, la);
  return arranged(a, la, result);
}

Tensor einsum(std::string_view formula, const Tensor& a, const Tensor& b) {
  const Formula parts = parse(formula, 2);
  const std::string la = letters_of(formula, parts.operands[0], a, 1),
                    lb = letters_of(formula, parts.operands[1], b, 2);
  const std::string result = spell(formula, parts.result, std::max(count_dots(la), count_dots(lb)));
  check_result(formula, result, la + lb);
  check_sizes(formula, la, a, lb, b);
  check_pair("einsum", a, b);
  // `batch` letters are in both operands and the result, `left` and `right` letters in one operand
  // and the result, and `summed` letters in both operands only.
  std::string batch, left, right, summed;
  for (const char c : result) (in(la, c) ? in(lb, c) ? batch : left : right) += c;
  for (const char c : la)
    if (in(lb, c) && !in(result, c)) summed += c;
  if (summed.empty()) return arranged(a, la, result) * arranged(b, lb, result);
  check_float("einsum", a);
  const Tensor x =
      as_matrices(arranged(a, la, batch + left + summed), batch.size(), left.size(), summed.size());
  const Tensor y = as_matrices(arranged(b, lb, batch + summed + right), batch.size(), summed.size(),
                               right.size());
  const Tensor z = matmul(x, y);  // [batch…, M, N]
  Shape shape(std::span(z.shape().begin(), batch.size()));
  for (const char c : left) shape.push_back(a.shape()[static_cast<int>(la.find(c))]);
  for (const char c : right) shape.push_back(b.shape()[static_cast<int>(lb.find(c))]);
  return arranged(reshape(z, shape), batch + left + right, result);
}

}  // namespace gradus
