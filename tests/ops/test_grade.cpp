#include <string>
#include <vector>

#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/ops/places.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/grade.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_grade {
namespace {

std::string spots(const std::string& name, const Samples& samples) {
  static std::vector<Samples> kept;  // oracles are cached by address
  kept.push_back(samples);
  Group group;
  for (const Sample& sample : kept.back()) group.push_back(&sample);
  std::string out;
  for (const std::string& line : blind_spots(name, group)) out += line + "\n";
  return out;
}

Sample transposed() {
  return {"permute",
          "",
          {values({3, 5})},
          [](const Inputs& x) {
            return permute(x[0], {1, 0});
          },
          places::each({5, 3}, [](const auto& x, const places::Place& p) {
            return places::at(x[0], {3, 5}, {p[1], p[0]});
          })};
}

Sample cycled() {
  return {"permute",
          "",
          {values({2, 3, 5})},
          [](const Inputs& x) {
            return permute(x[0], {2, 0, 1});
          },
          places::each({5, 2, 3}, [](const auto& x, const places::Place& p) {
            return places::at(x[0], {2, 3, 5}, {p[1], p[2], p[0]});
          })};
}

Sample doubled(const Tensor& x) {
  return {"scale",
          "",
          {x},
          [](const Inputs& in) { return 2.0 * in[0]; },
          []<class T>(const Arguments<T>& in) {
            List<T> y = in[0].values;
            for (T& v : y) v *= 2;
            return y;
          }};
}

Sample picked(std::initializer_list<std::int64_t> index) {
  return {"index_select",
          "",
          {values({5, 3}), indices(index)},
          [](const Inputs& in) { return index_select(in[0], 0, in[1]); },
          []<class T>(const Arguments<T>& in) {
            List<T> y;
            for (const std::int64_t i : in[1].integers)
              for (std::size_t c = 0; c < 3; ++c)
                y.push_back(in[0].values[static_cast<std::size_t>(i) * 3 + c]);
            return y;
          }};
}

}  // namespace

TEST_CASE("registry: the samples of each function expose every kind of fault") {
  for (const auto& [name, group] : groups_of(all_samples()))
    for (const std::string& line : blind_spots(name, group)) FAIL_CHECK(line);
}

TEST_CASE("grade: samples of an involutive permutation are reported as insufficient") {
  CHECK(spots("permute", {transposed()}) ==
        "samples of `permute` cannot detect that the permutation is not inverted: add one with a "
        "permutation that is not its own inverse: (2, 0, 1) of unequal axes\n");
  CHECK(spots("permute", {transposed(), cycled()}) == "");
}

TEST_CASE("grade: zeros, equal axes and a single sign are reported as insufficient") {
  CHECK(spots("scale", {doubled(values({3, 5}))}) == "");
  const std::string positive_square = spots("scale", {doubled(positive({3, 3}))});
  CHECK(has(positive_square, "two axes were confused: add one with an input whose axes"));
  CHECK(has(positive_square, "a formula holds for one sign only: add one with an input with"));
  const std::string nothing = spots("scale", {doubled(values({0, 3}))});
  CHECK(has(nothing, "input 0 has a gradient: add one with one that does not cancel"));
}

TEST_CASE("grade: an index without repeats is reported as insufficient") {
  CHECK(spots("index_select", {picked({4, 0, 4})}) == "");
  CHECK(has(spots("index_select", {picked({4, 0, 1})}),
            "repeated indices do not add up: add one with an index that occurs twice"));
}

}  // namespace gradus::testing::test_grade
