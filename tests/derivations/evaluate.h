// Evaluates the lines of a derivation in f64, one element at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gradus/tests/derivations/notation.h"
#include "gradus/tests/support/dual.h"

namespace gradus::derivations {

using Number = testing::math::Dual<double>;

/// A row-major tensor.
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// The position of each index letter. Unset positions are −1.
using Letters = std::array<std::int64_t, 128>;
inline Letters nowhere() {
  Letters none;
  none.fill(-1);
  return none;
}

/// The names that lines may use. A definition is evaluated at each use, so that ∂ differentiates
/// through it.
class World {
 public:
  void give(const std::string& name, Array value) { given_[name] = std::move(value); }
  /// Sets the range of a letter that is not an entire index of any tensor.
  void size(char letter, std::int64_t places) {
    free_[static_cast<unsigned char>(letter)] = places;
  }
  /// Defines `left` as `right`, such as "y_ri" as exp(x_ri), or "c" as a b. Throws NotationError if
  /// a letter has no size.
  void define(const std::string& left, const Expression& right);

  bool contains(const std::string& name) const;
  const std::vector<std::int64_t>& shape(const std::string& name) const;

  /// Returns `right` for each r and i of "dx_ri", or for the entire tensor "da".
  Array evaluate(const std::string& left, const Expression& right) const;
  Array evaluate(const std::string& name) const;
  /// Returns Σ upstream ∂output/∂name, computed with dual numbers: the gradient by definition.
  Array gradient(const std::string& output, const Array& upstream, const std::string& name) const;

 private:
  struct Definition {
    std::string letters;  // empty if the right side is a tensor
    bool whole = false;
    Expression right;
    Letters sizes{};
    std::vector<std::int64_t> shape = {};
  };
  struct Value {  // a scalar, or an entire tensor
    Number number = {};
    std::vector<std::int64_t> shape = {};
    std::vector<Number> elements = {};
    bool whole() const { return !shape.empty(); }
  };
  struct Seed {
    std::string name;
    std::int64_t place = -1;
  };
  struct WithSeed;

  Array over(const std::string& letters, const Letters& sizes, const Expression& right) const;
  Letters sizes_in(const Expression& e, Letters known) const;
  void collect(const Expression& e, Letters& known) const;

  Value value(const Expression& e, Letters& at) const;
  Number number(const Expression& e, Letters& at) const;
  std::int64_t integer(const Expression& e, Letters& at) const;
  Value named(const Expression& e, Letters& at) const;
  Value element(const Expression& e, Letters& at) const;
  Value sum(const Expression& e, Letters& at) const;
  Value product(const Expression& e, Letters& at) const;
  static Value times(const Value& a, const Value& b, char how);
  Value transposed(const Expression& e, Letters& at) const;
  Number function(const Expression& e, Letters& at) const;
  Number reduce(const Expression& e, Letters& at) const;
  Number relation(const Expression& e, Letters& at) const;
  Number derivative(const Expression& e, Letters& at) const;
  Value whole(const std::string& name) const;
  Number cell(const std::string& name, std::int64_t place) const;

  std::map<std::string, Array> given_;
  std::map<std::string, Definition> definitions_;
  Letters free_ = nowhere();
  mutable Letters sizes_{};  // letter sizes of the current line
  mutable Seed seed_;
  mutable std::map<std::pair<std::string, std::int64_t>, Number> known_;  // cache of definitions
};

/// RAII guard: seeds the derivative of one element, and hides cached values computed without this
/// seed.
struct World::WithSeed {
  const World& world;
  Seed before;
  std::map<std::pair<std::string, std::int64_t>, Number> known = {};
  WithSeed(const World& w, Seed seed) : world(w), before(std::exchange(w.seed_, std::move(seed))) {
    known.swap(world.known_);
  }
  ~WithSeed() {
    known.swap(world.known_);
    world.seed_ = before;
  }
  WithSeed(const WithSeed&) = delete;
  WithSeed& operator=(const WithSeed&) = delete;
};

namespace detail {

[[noreturn]] inline void reject(const std::string& why) { throw NotationError(why); }

inline std::int64_t& of(Letters& letters, char c) { return letters[static_cast<unsigned char>(c)]; }

inline bool is_letter(const Expression& e) {
  return e.kind == Kind::name && e.children.empty() && e.text.size() == 1;
}

/// Calls body() for every combination of positions. The last letter varies fastest.
void each_place(const std::string& letters, const Letters& sizes, Letters& at,
                const std::function<void()>& body, std::size_t next = 0);

}  // namespace detail

/// Splits "dx_ri" into {"dx", "ri"}.
std::pair<std::string, std::string> left_side(const std::string& text);

}  // namespace gradus::derivations
