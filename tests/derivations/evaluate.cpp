// An element such as x_{t+k}, whose index is computed, is 0 if the index is out of range.
#include "gradus/tests/derivations/evaluate.h"

#include <cmath>
#include <functional>
#include <utility>

namespace gradus::derivations {

using detail::is_letter;
using detail::of;
using detail::reject;

namespace {

namespace math = testing::math;

Number power(const Number& base, const Number& exponent) {
  if (exponent.tangent == 0 && exponent.value == std::floor(exponent.value) &&
      std::abs(exponent.value) < 16) {
    Number out = 1.0;
    for (int i = 0; i < std::abs(static_cast<int>(exponent.value)); ++i) out *= base;
    return exponent.value < 0 ? Number(1.0) / out : out;
  }
  return math::exp(exponent * math::log(base));
}

Number applied(const std::string& name, const std::vector<Number>& x) {
  if (name == "exp") return math::exp(x[0]);
  if (name == "log") return math::log(x[0]);
  if (name == "sin") return math::sin(x[0]);
  if (name == "cos") return math::cos(x[0]);
  if (name == "tanh") return math::tanh(x[0]);
  if (name == "erf") return math::erf(x[0]);
  if (name == "√") return math::sqrt(x[0]);
  if (name == "abs") return x[0] < Number(0.0) ? -x[0] : x[0];
  if (name == "σ") return Number(1.0) / (Number(1.0) + math::exp(-x[0]));
  if (name == "const") return x[0].value;
  if (name == "floor") return std::floor(x[0].value);
  if (name == "round") return std::nearbyint(x[0].value);
  if (name == "sign") return x[0].value > 0 ? 1.0 : x[0].value < 0 ? -1.0 : 0.0;
  if (x.size() == 2 && name == "max") return x[0] < x[1] ? x[1] : x[0];
  if (x.size() == 2 && name == "min") return x[1] < x[0] ? x[1] : x[0];
  reject("unknown function " + name);
}

bool holds(const std::string& sign, double a, double b) {
  if (sign == "=") return a == b;
  if (sign == "≠") return a != b;
  if (sign == "<") return a < b;
  if (sign == ">") return a > b;
  return sign == "≤" ? a <= b : a >= b;
}

}  // namespace

World::Value World::value(const Expression& e, Letters& at) const {
  switch (e.kind) {
    case Kind::number:
      return {.number = e.number};
    case Kind::name:
      return named(e, at);
    case Kind::sum:
      return sum(e, at);
    case Kind::product:
      return product(e, at);
    case Kind::power:
      return {.number = power(number(e.children[0], at), number(e.children[1], at))};
    case Kind::transpose:
      return transposed(e, at);
    case Kind::element:
      return element(e, at);
    case Kind::function:
      return {.number = function(e, at)};
    case Kind::reduce:
      return {.number = reduce(e, at)};
    case Kind::relation:
      return {.number = relation(e, at)};
    case Kind::delta:
      return {.number = integer(e.children[0], at) == integer(e.children[1], at) ? 1.0 : 0.0};
    case Kind::derivative:
      return {.number = derivative(e, at)};
  }
  return {};
}

Number World::number(const Expression& e, Letters& at) const {
  const Value v = value(e, at);
  if (v.whole()) reject(spell(e) + " must be a number, not a tensor");
  return v.number;
}

std::int64_t World::integer(const Expression& e, Letters& at) const {
  return std::llround(number(e, at).value);
}

World::Value World::named(const Expression& e, Letters& at) const {
  if (is_letter(e) && of(at, e.text[0]) >= 0)
    return {.number = static_cast<double>(of(at, e.text[0]))};
  if (contains(e.text)) {
    if (e.children.empty()) return whole(e.text);
    const std::vector<std::int64_t>& axes = shape(e.text);
    if (axes.size() != e.children.size()) reject(spell(e) + " has the wrong number of indices");
    std::int64_t place = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::int64_t index = integer(e.children[i], at);
      if (index < 0 || index >= axes[i]) return {.number = 0.0};
      place = place * axes[i] + index;
    }
    return {.number = cell(e.text, place)};
  }
  reject("cannot evaluate " + spell(e));
}

World::Value World::element(const Expression& e, Letters& at) const {
  const Value v = value(e.children[0], at);
  if (v.shape.size() + 1 != e.children.size())
    reject(spell(e) + " has the wrong number of indices");
  std::int64_t place = 0;
  for (std::size_t i = 0; i < v.shape.size(); ++i) {
    const std::int64_t index = integer(e.children[i + 1], at);
    if (index < 0 || index >= v.shape[i]) reject(spell(e) + " is out of range");
    place = place * v.shape[i] + index;
  }
  return {.number = v.elements[static_cast<std::size_t>(place)]};
}

World::Value World::sum(const Expression& e, Letters& at) const {
  Value total = value(e.children[0], at);
  const auto add = [](Number& a, const Number& b, int sign) { a += Number(sign) * b; };
  if (e.signs[0] < 0) total = times({.number = -1.0}, total, '*');
  for (std::size_t i = 1; i < e.children.size(); ++i) {
    const Value v = value(e.children[i], at);
    if (v.shape != total.shape) reject(spell(e) + ": the shapes differ");
    add(total.number, v.number, e.signs[i]);
    for (std::size_t k = 0; k < v.elements.size(); ++k)
      add(total.elements[k], v.elements[k], e.signs[i]);
  }
  return total;
}

World::Value World::product(const Expression& e, Letters& at) const {
  Value out = value(e.children[0], at);
  for (std::size_t i = 1; i < e.children.size(); ++i)
    out = times(out, value(e.children[i], at), e.text[i]);
  return out;
}

World::Value World::times(const Value& a, const Value& b, char how) {
  if (!a.whole() && !b.whole())
    return {.number = how == '/' ? a.number / b.number : a.number * b.number};
  if (!a.whole() || !b.whole()) {  // one is a scalar, the other a tensor
    Value out = a.whole() ? a : b;
    if (how == '/' && b.whole()) reject("cannot divide by a tensor");
    for (Number& x : out.elements)
      x = how == '/' ? x / b.number : x * (a.whole() ? b.number : a.number);
    return out;
  }
  Value out = a;
  if (how == 'o') {
    if (a.shape != b.shape) reject("⊙ requires tensors of the same shape");
    for (std::size_t i = 0; i < a.elements.size(); ++i) out.elements[i] *= b.elements[i];
    return out;
  }
  if (how == '/' || a.shape.size() != 2 || b.shape.size() != 2 || a.shape[1] != b.shape[0])
    reject("a product requires matrices with matching sizes");
  const std::int64_t m = a.shape[0], n = b.shape[1], inner = a.shape[1];
  out.shape = {m, n};
  out.elements.assign(static_cast<std::size_t>(m * n), 0.0);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t k = 0; k < inner; ++k)
        out.elements[static_cast<std::size_t>(i * n + j)] +=
            a.elements[static_cast<std::size_t>(i * inner + k)] *
            b.elements[static_cast<std::size_t>(k * n + j)];
  return out;
}

World::Value World::transposed(const Expression& e, Letters& at) const {
  const Value v = value(e.children[0], at);
  if (v.shape.size() != 2) reject(spell(e) + ": a transpose requires a matrix");
  Value out = v;
  out.shape = {v.shape[1], v.shape[0]};
  for (std::int64_t i = 0; i < v.shape[0]; ++i)
    for (std::int64_t j = 0; j < v.shape[1]; ++j)
      out.elements[static_cast<std::size_t>(j * v.shape[0] + i)] =
          v.elements[static_cast<std::size_t>(i * v.shape[1] + j)];
  return out;
}

Number World::function(const Expression& e, Letters& at) const {
  std::vector<Number> arguments;
  for (const Expression& child : e.children) arguments.push_back(number(child, at));
  return applied(e.text, arguments);
}

Number World::reduce(const Expression& e, Letters& at) const {
  bool first = true;
  Number out = e.text == "Π" ? 1.0 : 0.0;
  detail::each_place(e.letters, sizes_, at, [&] {
    const Number x = number(e.children[0], at);
    if (e.text == "Σ")
      out += x;
    else if (e.text == "Π")
      out *= x;
    else if (first || (e.text == "max" ? out < x : x < out))
      out = x;
    first = false;
  });
  return out;
}

Number World::relation(const Expression& e, Letters& at) const {
  return holds(e.text, number(e.children[0], at).value, number(e.children[1], at).value) ? 1.0
                                                                                         : 0.0;
}

Number World::derivative(const Expression& e, Letters& at) const {
  const Expression& by = e.children[1];
  if (!seed_.name.empty()) reject(spell(e) + " inside another derivative");
  const std::vector<std::int64_t>& axes = shape(by.text);
  if (axes.size() != by.children.size()) reject(spell(by) + " has the wrong number of indices");
  std::int64_t place = 0;
  for (std::size_t i = 0; i < axes.size(); ++i)
    place = place * axes[i] + integer(by.children[i], at);
  const WithSeed seed(*this, {by.text, place});
  return number(e.children[0], at).tangent;
}

}  // namespace gradus::derivations
