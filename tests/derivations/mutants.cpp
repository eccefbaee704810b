#include "gradus/tests/derivations/mutants.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace gradus::derivations {
namespace {

using Plant = std::function<void(Expression&)>;

bool is_index(const Expression& e) {
  return e.kind == Kind::name && e.children.empty() && e.text.size() == 1;
}

/// The index letters, and the pairs of letters that are interchangeable. A pair is interchangeable
/// if δ or [i = j] makes it equal, or if it belongs to ∂y_sj/∂x_ri, which is 0 where y_sj does not
/// depend on x_ri.
struct Indices {
  std::set<std::string> letters;
  std::set<std::pair<std::string, std::string>> equal;

  void join(const Expression& a, const Expression& b) {
    if (!is_index(a) || !is_index(b)) return;
    equal.insert({a.text, b.text});
    equal.insert({b.text, a.text});
  }
  void join_all(const Expression& of, const Expression& by) {
    join(of, by);
    for (const Expression& child : of.children) join_all(child, by);
  }
  bool joined(const std::string& a, const std::string& b) const { return equal.count({a, b}) > 0; }

  void look(const Expression& e) {
    const bool equates = e.kind == Kind::delta || (e.kind == Kind::relation && e.text == "=");
    if (equates) join(e.children[0], e.children[1]);
    if (e.kind == Kind::derivative)
      for (const Expression& by : e.children[1].children) join_all(e.children[0], by);
    if (e.kind == Kind::name || e.kind == Kind::delta)
      for (const Expression& place : e.children)
        if (is_index(place)) letters.insert(place.text);
    for (const Expression& child : e.children) look(child);
  }
};

void drop(Expression& e, std::size_t i) {
  const auto at = static_cast<std::ptrdiff_t>(i);
  e.children.erase(e.children.begin() + at);
  if (e.kind == Kind::sum)
    e.signs.erase(e.signs.begin() + at);
  else
    e.text.erase(i, 1);
  if (e.kind == Kind::product && i == 0 && e.text[0] == '/') {  // keeps the 1 in "1 / x"
    e.children.insert(e.children.begin(), Expression{.number = 1});
    e.text.insert(0, "*");
  }
}

class Planter {
 public:
  explicit Planter(const Expression& right) : whole_(right) { indices_.look(right); }

  std::vector<Mutant> all() {
    const auto is_zero = [](const Expression& e) {
      return e.kind == Kind::number && e.number == 0;
    };
    if (!is_zero(whole_)) {
      out_.push_back({"sign", {.kind = Kind::sum, .signs = {-1}, .children = {whole_}}});
      out_.push_back(
          {"factor",
           {.kind = Kind::product, .text = "**", .children = {Expression{.number = 2}, whole_}}});
    }
    Expression copy = whole_;
    visit(copy, copy);
    return std::move(out_);
  }

 private:
  /// Stores a copy of `root` in which part `e` is mutated, then restores `e`.
  void plant(Expression& root, Expression& e, const char* kind, const Plant& mistake,
             bool may_be_equal = false) {
    Expression before = e;
    mistake(e);
    out_.push_back({kind, root, may_be_equal});
    e = std::move(before);
  }

  void visit(Expression& root, Expression& e) {
    switch (e.kind) {
      case Kind::sum:
        sums(root, e);
        break;
      case Kind::product:
        products(root, e);
        break;
      case Kind::number:
        plant(root, e, "number", [](Expression& x) { x.number += 1; });
        break;
      case Kind::name:
        subscripts(root, e);
        break;
      case Kind::transpose:
        plant(root, e, "transpose", [](Expression& x) { x = Expression(x.children[0]); });
        break;
      case Kind::function:
        if (e.children.size() == 1)
          plant(root, e, "function", [](Expression& x) { x = Expression(x.children[0]); });
        break;
      case Kind::relation:
        turn_relation(root, e);
        break;
      default:
        break;
    }
    for (Expression& child : e.children) visit(root, child);
  }

  void sums(Expression& root, Expression& e) {
    for (std::size_t i = 0; i < e.children.size(); ++i) {
      plant(root, e, "sign", [i](Expression& x) { x.signs[i] = -x.signs[i]; });
      if (e.children.size() > 1) plant(root, e, "term", [i](Expression& x) { drop(x, i); });
    }
  }

  void products(Expression& root, Expression& e) {
    for (std::size_t i = 0; i < e.children.size(); ++i) {
      const bool one = e.children[i].kind == Kind::number && e.children[i].number == 1;
      if (!one) plant(root, e, "factor", [i](Expression& x) { drop(x, i); });
      if (i > 0 && e.text[i] != 'o')
        plant(root, e, "operator",
              [i](Expression& x) { x.text[i] = x.text[i] == '*' ? '/' : '*'; });
    }
  }

  void subscripts(Expression& root, Expression& e) {
    for (std::size_t i = 0; i < e.children.size(); ++i) {
      if (!is_index(e.children[i])) continue;
      for (const std::string& other : indices_.letters)
        if (other != e.children[i].text)
          plant(
              root, e, "index", [&](Expression& x) { x.children[i].text = other; },
              indices_.joined(other, e.children[i].text));
    }
    if (e.children.size() == 2 && is_index(e.children[0]) && is_index(e.children[1]))
      plant(
          root, e, "index", [](Expression& x) { std::swap(x.children[0], x.children[1]); },
          indices_.joined(e.children[0].text, e.children[1].text));
  }

  void turn_relation(Expression& root, Expression& e) {
    const std::vector<std::pair<std::string, std::string>> opposites = {
        {"=", "≠"}, {"≠", "="}, {"<", "≥"}, {">", "≤"}, {"≤", ">"}, {"≥", "<"}};
    for (const auto& [sign, opposite] : opposites)
      if (e.text == sign) {
        plant(root, e, "relation", [to = opposite](Expression& x) { x.text = to; });
        return;
      }
  }

  const Expression& whole_;
  Indices indices_;
  std::vector<Mutant> out_;
};

}  // namespace

std::vector<Mutant> mutants(const Expression& right) { return Planter(right).all(); }

}  // namespace gradus::derivations
