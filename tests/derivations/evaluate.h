// The value of a line of a derivation, in f64 and one number at a time.
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

/// A tensor, row-major.
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// Where each index letter stands; −1: nowhere.
using Letters = std::array<std::int64_t, 128>;
inline Letters nowhere() {
  Letters none;
  none.fill(-1);
  return none;
}

/// The names that lines may mention: tensors that are given, and definitions, which are evaluated
/// where they are used, so that ∂ sees through them.
class World {
 public:
  void give(const std::string& name, Array value) { given_[name] = std::move(value); }
  /// How many places a letter has that stands alone in no subscript.
  void size(char letter, std::int64_t places) {
    free_[static_cast<unsigned char>(letter)] = places;
  }
  /// `left` = `right`, as in "y_ri" = exp(x_ri), or "c" = a b. NotationError where right's
  /// letters have no sizes.
  void define(const std::string& left, const Expression& right);

  bool knows(const std::string& name) const;
  const std::vector<std::int64_t>& shape(const std::string& name) const;

  /// right for every place of `left`: "dx_ri" with each r and i, or the whole tensor "da".
  Array evaluate(const std::string& left, const Expression& right) const;
  /// The tensor itself.
  Array evaluate(const std::string& name) const;
  /// Σ upstream ∂output/∂name by dual numbers: the gradient by its definition.
  Array gradient(const std::string& output, const Array& upstream, const std::string& name) const;

 private:
  struct Definition {
    std::string letters;  // of its places; empty and whole: the right side has a tensor's value
    bool whole = false;
    Expression right;
    Letters sizes{};  // of its letters
    std::vector<std::int64_t> shape = {};
  };
  struct Value {  // of a number, or of a whole tensor
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
  mutable Letters sizes_{};  // of the letters of the line that is evaluated
  mutable Seed seed_;
  mutable std::map<std::pair<std::string, std::int64_t>, Number> known_;  // of definitions
};

/// The seed of one element, and what was known without it kept away.
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

[[noreturn]] inline void refuse(const std::string& why) { throw NotationError(why); }

inline std::int64_t& of(Letters& letters, char c) { return letters[static_cast<unsigned char>(c)]; }

inline bool is_letter(const Expression& e) {
  return e.kind == Kind::name && e.children.empty() && e.text.size() == 1;
}

/// body() with every letter of `letters` at each of its places, the last running fastest.
void each_place(const std::string& letters, const Letters& sizes, Letters& at,
                const std::function<void()>& body, std::size_t next = 0);

}  // namespace detail

/// The name and the letters of "dx_ri".
std::pair<std::string, std::string> left_side(const std::string& text);

}  // namespace gradus::derivations
