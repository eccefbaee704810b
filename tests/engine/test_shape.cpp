// Shapes, strides, broadcasting, and the iteration over rows.
#include "gradus/engine/shape.h"

#include <limits>
#include <sstream>
#include <vector>

#include "gradus/engine/strided.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus {

using testing::has;
using testing::message_of;

TEST_CASE("Sizes supports insertion, removal and comparison") {
  Sizes s = {2, 3, 5};
  CHECK(s.rank() == 3);
  CHECK(s[2] == 5);
  s.insert(1, 7);
  CHECK(s == Sizes{2, 7, 3, 5});
  s.insert(4, 1);
  CHECK(s == Sizes{2, 7, 3, 5, 1});
  s.erase(0);
  CHECK(s == Sizes{7, 3, 5, 1});
  s.push_back(9);
  CHECK(s == Sizes{7, 3, 5, 1, 9});
  CHECK(!(s == Sizes{7, 3, 5, 1}));
  CHECK(Sizes::filled(3, 4) == Sizes{4, 4, 4});
  CHECK(Sizes{} == Sizes::filled(0, 1));
  CHECK(to_string(s) == "[7, 3, 5, 1, 9]");
  CHECK(to_string(Sizes{}) == "[]");
  std::ostringstream out;
  out << Sizes{1, 2};
  CHECK(out.str() == "[1, 2]");
}

TEST_CASE("a tensor has at most 8 axes") {
  Sizes s = {1, 1, 1, 1, 1, 1, 1, 1};
  CHECK_REFUSES(ShapeError, s.push_back(2), "8");
  CHECK_THROWS_AS((Sizes{1, 2, 3, 4, 5, 6, 7, 8, 9}), ShapeError);
  CHECK(s.rank() == 8);
}

TEST_CASE("numel handles empty and scalar shapes and refuses overflow and negative sizes") {
  CHECK(numel({}) == 1);
  CHECK(numel({2, 3, 5}) == 30);
  CHECK(numel({7, 0, 3}) == 0);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(numel({most}) == most);
  CHECK_THROWS_AS(numel({most, 0, most}), ShapeError);  // its strides could not be told either
  CHECK_REFUSES(ShapeError, numel({most / 2, 3}), "2^63");
  CHECK_REFUSES(ShapeError, numel({2, -3}), "-3");
}

TEST_CASE("contiguous strides are row-major") {
  CHECK(contiguous_strides({2, 3, 5}) == Strides{15, 5, 1});
  CHECK(contiguous_strides({}) == Strides{});
  CHECK(contiguous_strides({2, 0, 3}) == Strides{3, 3, 1});
}

TEST_CASE("axes count from both ends, and others throw IndexError") {
  CHECK(normal_axis("op", 0, 3) == 0);
  CHECK(normal_axis("op", -1, 3) == 2);
  CHECK(normal_axis("op", -3, 3) == 0);
  for (const int axis : {3, -4}) {
    const std::string message = message_of<IndexError>([&] { normal_axis("softmax", axis, 3); });
    CHECK(has(message, "softmax"));
    CHECK(has(message, std::to_string(axis)));
    CHECK(has(message, "-3 to 2"));
  }
  CHECK_THROWS_AS(normal_axis("op", 0, 0), IndexError);
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

TEST_CASE("broadcast strides are 0 along repeated axes") {
  CHECK(broadcast_strides({3, 1}, {1, 1}, {2, 3, 5}) == Strides{0, 1, 0});
  CHECK(broadcast_strides({}, {}, {2}) == Strides{0});
  CHECK(broadcast_strides({2, 3}, {3, 1}, {2, 3}) == Strides{3, 1});
}

namespace {

/// How often each element of `shape` is visited, found by the first operand's offsets, and whether
/// the second operand's offset fits each time.
std::vector<int> visits(const Shape& shape, const Strides& a, const Strides& b, std::size_t room) {
  std::vector<std::int64_t> wanted(room, -1);
  for (std::int64_t k = 0; k < numel(shape); ++k) {
    std::int64_t rest = k, from = 0, to = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      from += rest % shape[axis] * a[axis];
      to += rest % shape[axis] * b[axis];
      rest /= shape[axis];
    }
    wanted[static_cast<std::size_t>(from)] = to;
  }
  std::vector<int> count(room, 0);
  const Strides both[] = {a, b};
  for_each_row(shape, both, [&](const Offsets& at, std::int64_t n, const Offsets& step) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto place = static_cast<std::size_t>(at[0] + i * step[0]);
      count[place] += wanted[place] == at[1] + i * step[1] ? 1 : 1000;
    }
  });
  return count;
}

}  // namespace

TEST_CASE("row iteration visits each element once with the offsets of every operand") {
  const std::vector<int> thirty(30, 1);
  CHECK(visits({2, 3, 5}, {15, 5, 1}, {15, 5, 1}, 30) == thirty);
  CHECK(visits({2, 3, 5}, {15, 5, 1}, {1, 2, 6}, 30) == thirty);
  CHECK(visits({2, 3, 5}, {1, 2, 6}, {0, 1, 0}, 30) == thirty);
  CHECK(visits({2, 1, 3, 5}, {15, 99, 5, 1}, {0, 7, 0, 0}, 30) == thirty);
  CHECK(visits({}, {}, {}, 1) == std::vector<int>{1});
  CHECK(visits({1, 1}, {4, 2}, {0, 0}, 1) == std::vector<int>{1});
  CHECK(visits({3, 0}, {1, 1}, {0, 0}, 1) == std::vector<int>{0});
  // Long enough for several chunks and threads, as one row and as many.
  CHECK(visits({40000}, {1}, {3}, 40000) == std::vector<int>(40000, 1));
  CHECK(visits({20000, 3}, {1, 20000}, {3, 1}, 60000) == std::vector<int>(60000, 1));
  CHECK(visits({3, 20000}, {20000, 1}, {0, 1}, 60000) == std::vector<int>(60000, 1));
}

}  // namespace gradus
