#include <string>

#include "gradus/tests/derivations/evaluate.h"
#include "gradus/tests/support/catch.h"

namespace gradus::derivations {
namespace {

World small() {
  World world;
  world.give("a", {{2, 3}, {1, 2, 3, 4, 5, 6}});
  world.give("v", {{3}, {1, 10, 100}});
  world.give("c", {{}, {2}});
  world.define("y_i", parse("Σ_j a_ij v_j"));
  return world;
}

std::vector<double> at(const std::string& left, const std::string& text) {
  World world = small();
  return world.evaluate(left, parse(text)).values;
}

using Values = std::vector<double>;

}  // namespace

TEST_CASE("notation: sums, products and powers have the usual precedence") {
  CHECK(at("n", "1 + 2 · 3 − 4 / 2") == Values{5});
  CHECK(at("n", "−2² + c c") == Values{0});
  CHECK(at("n", "c^(1 + 2)") == Values{8});
  CHECK(at("n", "1 / c · 3") == Values{1.5});
  CHECK(at("n", "Σ_j v_j − 1") == Values{110});
  CHECK(at("n", "2 Σ_j v_j c") == Values{444});
  CHECK(at("n", "Π_j v_j") == Values{1000});
  CHECK(at("n", "max_j v_j − min_j v_j") == Values{99});
  CHECK(at("n", "|1 − c| √(c + 2) + ½") == Values{2.5});
}

TEST_CASE("notation: indices select, shift and sum elements") {
  CHECK(at("y_i", "Σ_j a_ij v_j") == Values{321, 654});
  CHECK(at("y_i", "Σ_j δ_ij v_j") == Values{1, 10});
  CHECK(at("y_i", "v_{i + 1}") == Values{10, 100});
  CHECK(at("y_i", "v_{i + 2}") == Values{100, 0});  // an element out of range is 0
  CHECK(at("v_j", "[j ≥ 1] v_j") == Values{0, 10, 100});
  CHECK(at("v_j", "[j ≠ 1] (j + 1)") == Values{1, 0, 3});
  CHECK(at("y_i", "(a aᵀ)_ii") == Values{14, 77});
}

TEST_CASE("notation: operations on entire tensors follow matrix notation") {
  CHECK(at("n", "a aᵀ") == Values{14, 32, 32, 77});
  CHECK(at("n", "a ⊙ a − a") == Values{0, 2, 6, 12, 20, 30});
  CHECK(at("n", "c a") == Values{2, 4, 6, 8, 10, 12});
  CHECK_THROWS_AS(at("n", "a a"), NotationError);
}

TEST_CASE("notation: derivatives pass through definitions") {
  CHECK(at("a_ij", "∂y_i/∂a_ij") == Values{1, 10, 100, 1, 10, 100});
  CHECK(at("v_j", "Σ_i ∂y_i/∂v_j") == Values{5, 7, 9});
  CHECK(at("v_j", "∂(v_j² + c)/∂v_j") == Values{2, 20, 200});
  CHECK(at("v_j", "∂(v_j const(v_j))/∂v_j") == Values{1, 10, 100});
  CHECK(small().gradient("y", {{2}, {1, 0}}, "v").values == Values{1, 2, 3});
}

TEST_CASE("notation: malformed and undefined expressions are rejected") {
  for (const char* text : {"", "1 +", "a_", "(1", "1 / 2 3", "Σ_ 1", "[1]", "δ_i", "1 ) 2", "∂a"})
    CHECK_THROWS_AS(parse(text), NotationError);
  for (const char* text : {"unknown", "a_i", "Σ_k 1", "v_j + a_ji", "k", "a + v"})
    CHECK_THROWS_AS(at("y_i", text), NotationError);
}

}  // namespace gradus::derivations
