#include "gradus/engine/shape.h"

#include <limits>
#include <sstream>

#include "gradus/engine/broadcast.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus {

using testing::has;
using testing::message_of;

TEST_CASE("Shape supports insertion, removal and comparison") {
  Shape s = {2, 3, 5};
  CHECK(s.rank() == 3);
  CHECK(s[2] == 5);
  s.insert(1, 7);
  CHECK(s == Shape{2, 7, 3, 5});
  s.insert(4, 1);
  CHECK(s == Shape{2, 7, 3, 5, 1});
  s.erase(0);
  CHECK(s == Shape{7, 3, 5, 1});
  s.push_back(9);
  CHECK(s == Shape{7, 3, 5, 1, 9});
  CHECK(!(s == Shape{7, 3, 5, 1}));
  CHECK(Shape::filled(3, 4) == Shape{4, 4, 4});
  CHECK(Shape{} == Shape::filled(0, 1));
  CHECK(to_string(s) == "[7, 3, 5, 1, 9]");
  CHECK(to_string(Shape{}) == "[]");
  std::ostringstream out;
  out << Shape{1, 2};
  CHECK(out.str() == "[1, 2]");
}

TEST_CASE("a tensor has at most 8 axes") {
  Shape s = {1, 1, 1, 1, 1, 1, 1, 1};
  CHECK_REFUSES(ShapeError, s.push_back(2), "8");
  CHECK_THROWS_AS((Shape{1, 2, 3, 4, 5, 6, 7, 8, 9}), ShapeError);
  CHECK(s.rank() == 8);
}

TEST_CASE("numel handles empty and scalar shapes and rejects overflow and negative sizes") {
  CHECK(numel({}) == 1);
  CHECK(numel({2, 3, 5}) == 30);
  CHECK(numel({7, 0, 3}) == 0);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(numel({most}) == most);
  CHECK_THROWS_AS(numel({most, 0, most}), ShapeError);  // the strides would overflow
  CHECK_REFUSES(ShapeError, numel({most / 2, 3}), "2^63");
  CHECK_REFUSES(ShapeError, numel({2, -3}), "-3");
}

TEST_CASE("contiguous strides are row-major") {
  CHECK(contiguous_strides({2, 3, 5}) == Strides{15, 5, 1});
  CHECK(contiguous_strides({}) == Strides{});
  CHECK(contiguous_strides({2, 0, 3}) == Strides{3, 3, 1});
}

TEST_CASE("axes count from both ends, and axes out of range throw IndexError") {
  CHECK(normalize_axis("op", 0, 3) == 0);
  CHECK(normalize_axis("op", -1, 3) == 2);
  CHECK(normalize_axis("op", -3, 3) == 0);
  for (const int axis : {3, -4}) {
    const std::string message = message_of<IndexError>([&] { normalize_axis("softmax", axis, 3); });
    CHECK(has(message, "softmax"));
    CHECK(has(message, std::to_string(axis)));
    CHECK(has(message, "-3 to 2"));
  }
  CHECK_THROWS_AS(normalize_axis("op", 0, 0), IndexError);
}

TEST_CASE("shapes broadcast as in NumPy in both directions") {
  CHECK(broadcast_shapes("op", {2, 3}, {2, 3}) == Shape{2, 3});
  CHECK(broadcast_shapes("op", {2, 1, 5}, {3, 1}) == Shape{2, 3, 5});
  CHECK(broadcast_shapes("op", {3, 1}, {2, 1, 5}) == Shape{2, 3, 5});
  CHECK(broadcast_shapes("op", {}, {4}) == Shape{4});
  CHECK(broadcast_shapes("op", {1}, {0}) == Shape{0});
  CHECK(broadcast_shapes("op", {0, 1}, {1, 3}) == Shape{0, 3});
  const std::string message = message_of<ShapeError>([] { broadcast_shapes("add", {2, 3}, {4}); });
  CHECK(has(message, "add"));
  CHECK(has(message, "[2, 3]"));
  CHECK(has(message, "[4]"));
  CHECK(has(message, "axis -1"));
  CHECK_THROWS_AS(broadcast_shapes("op", {0}, {2}), ShapeError);
}

TEST_CASE("expand and sum_to report their shapes in errors") {
  const Tensor none, x = ones({2, 1}), y = ones({2, 3});
  CHECK_REFUSES(ValueError, expand(none, {2}), "expand", "undefined");
  CHECK_REFUSES(ValueError, sum_to(none, {}), "sum_to", "undefined");
  CHECK_REFUSES(ShapeError, expand(y, {3}), "expand", "[3]", "[2, 3]");
  CHECK_REFUSES(ShapeError, expand(x, {-1, 2, 4}), "-1", "0");
  CHECK_REFUSES(ShapeError, expand(x, {2, -3}), "-3", "1");
  CHECK(expand(x, {-1, -1}).shape() == Shape{2, 1});
  CHECK(expand(x, {4, -1, 0}).shape() == Shape{4, 2, 0});
  CHECK(broadcasts_to({2, 1}, {4, 2, 3}));
  CHECK_FALSE(broadcasts_to({1, 3}, {3}));
  CHECK_FALSE(broadcasts_to({3}, {4}));
}

}  // namespace gradus
