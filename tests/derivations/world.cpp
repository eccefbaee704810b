#include <utility>

#include "gradus/tests/derivations/evaluate.h"

namespace gradus::derivations {

using detail::is_letter;
using detail::of;
using detail::reject;

namespace {

std::int64_t count(const std::vector<std::int64_t>& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  return n;
}

/// In δ_ij, a letter that occurs nowhere else has the size of the other letter.
void share(const Expression& e, Letters& known) {
  if (e.kind == Kind::delta && is_letter(e.children[0]) && is_letter(e.children[1])) {
    std::int64_t &a = of(known, e.children[0].text[0]), &b = of(known, e.children[1].text[0]);
    a = a < 0 ? b : a;
    b = b < 0 ? a : b;
  }
  for (const Expression& child : e.children) share(child, known);
}

}  // namespace

void detail::each_place(const std::string& letters, const Letters& sizes, Letters& at,
                        const std::function<void()>& body, std::size_t next) {
  if (next == letters.size()) return body();
  std::int64_t& place = of(at, letters[next]);
  const std::int64_t before = place, size = sizes[static_cast<unsigned char>(letters[next])];
  if (size < 0)
    reject(std::string("no tensor has ") + letters[next] + " as the only index of an axis");
  for (place = 0; place < size; ++place) detail::each_place(letters, sizes, at, body, next + 1);
  place = before;
}

std::pair<std::string, std::string> left_side(const std::string& text) {
  const std::size_t at = text.find('_');
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + 1)};
}

bool World::contains(const std::string& name) const {
  return given_.count(name) + definitions_.count(name) > 0;
}

const std::vector<std::int64_t>& World::shape(const std::string& name) const {
  if (const auto given = given_.find(name); given != given_.end()) return given->second.shape;
  const auto found = definitions_.find(name);
  if (found == definitions_.end()) reject("unknown name " + name);
  return found->second.shape;
}

void World::define(const std::string& left, const Expression& right) {
  const auto [name, letters] = left_side(left);
  Definition d{.letters = letters, .right = right};
  const Letters sizes = d.sizes = sizes_in(d.right, nowhere());
  for (const char c : letters) {
    d.shape.push_back(sizes[static_cast<unsigned char>(c)]);
    if (d.shape.back() < 0)
      reject(std::string("the index ") + c + " of " + left + " has no size, because no tensor of " +
             spell(right) + " has an axis with only this index");
  }
  if (letters.empty()) {
    sizes_ = sizes;
    Letters at = nowhere();
    const Value v = value(d.right, at);
    d.whole = v.whole();
    d.shape = v.shape;
  }
  definitions_[name] = std::move(d);
}

/// A letter that is an entire index has the size of that axis.
void World::collect(const Expression& e, Letters& known) const {
  if (e.kind == Kind::name && !e.children.empty()) {
    const std::vector<std::int64_t>& axes = shape(e.text);
    if (axes.size() != e.children.size())
      reject(e.text + " has " + std::to_string(axes.size()) + " axes: " + spell(e));
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (!is_letter(e.children[i])) continue;
      std::int64_t& size = of(known, e.children[i].text[0]);
      if (size >= 0 && size != axes[i])
        reject("the index " + e.children[i].text + " has " + std::to_string(size) +
               " values elsewhere, but " + std::to_string(axes[i]) + " in " + spell(e));
      size = axes[i];
    }
  }
  for (const Expression& child : e.children) collect(child, known);
}

Letters World::sizes_in(const Expression& e, Letters known) const {
  collect(e, known);
  share(e, known);
  for (std::size_t c = 0; c < known.size(); ++c)
    if (known[c] < 0) known[c] = free_[c];
  return known;
}

Array World::over(const std::string& letters, const Letters& sizes, const Expression& right) const {
  Array out;
  Letters at = nowhere();
  sizes_ = sizes;
  for (const char c : letters) out.shape.push_back(sizes[static_cast<unsigned char>(c)]);
  detail::each_place(letters, sizes, at, [&] { out.values.push_back(number(right, at).value); });
  return out;
}

Array World::evaluate(const std::string& left, const Expression& right) const {
  const auto [name, letters] = left_side(left);
  Letters sizes = nowhere();
  if (!letters.empty()) {  // "dx_ri" has the sizes of x
    const std::vector<std::int64_t>& axes = shape(contains(name) ? name : name.substr(1));
    if (axes.size() != letters.size()) reject(left + " must have one index per axis");
    for (std::size_t i = 0; i < axes.size(); ++i) of(sizes, letters[i]) = axes[i];
    return over(letters, sizes_in(right, sizes), right);
  }
  sizes_ = sizes_in(right, sizes);
  Letters at = nowhere();
  const Value v = value(right, at);
  if (!v.whole()) return {{}, {v.number.value}};
  Array out{v.shape, {}};
  for (const Number& x : v.elements) out.values.push_back(x.value);
  return out;
}

Array World::evaluate(const std::string& name) const {
  Array out{shape(name), {}};
  for (std::int64_t i = 0; i < count(out.shape); ++i) out.values.push_back(cell(name, i).value);
  return out;
}

Array World::gradient(const std::string& output, const Array& upstream,
                      const std::string& name) const {
  Array out{shape(name), {}};
  for (std::int64_t i = 0; i < count(out.shape); ++i) {
    const WithSeed seed(*this, {name, i});
    double total = 0;
    for (std::size_t k = 0; k < upstream.values.size(); ++k)
      total += upstream.values[k] * cell(output, static_cast<std::int64_t>(k)).tangent;
    out.values.push_back(total);
  }
  return out;
}

/// Returns an element of a given or defined tensor. The seeded element has tangent 1.
Number World::cell(const std::string& name, std::int64_t place) const {
  const Number seeded(0.0, seed_.place == place && seed_.name == name ? 1.0 : 0.0);
  if (const auto given = given_.find(name); given != given_.end())
    return Number(given->second.values[static_cast<std::size_t>(place)]) + seeded;
  const auto key = std::pair(name, place);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const Definition& d = definitions_.at(name);
  Letters at = nowhere();
  std::int64_t rest = place;
  for (std::size_t i = d.letters.size(); i-- > 0; rest /= d.shape[i])
    of(at, d.letters[i]) = rest % d.shape[i];
  const Letters outer = std::exchange(sizes_, d.sizes);
  Number out;
  if (d.whole) {
    const Value all = value(d.right, at);
    for (std::size_t i = 0; i < all.elements.size(); ++i)
      known_[{name, static_cast<std::int64_t>(i)}] =
          all.elements[i] +
          Number(0.0, seed_.name == name && seed_.place == static_cast<std::int64_t>(i) ? 1. : 0.);
    out = known_.at(key);
  } else {
    out = known_[key] = number(d.right, at) + seeded;
  }
  sizes_ = outer;
  return out;
}

World::Value World::whole(const std::string& name) const {
  Value v;
  v.shape = shape(name);
  if (v.shape.empty()) {
    v.number = cell(name, 0);
    return v;
  }
  for (std::int64_t i = 0; i < count(v.shape); ++i) v.elements.push_back(cell(name, i));
  return v;
}

}  // namespace gradus::derivations
