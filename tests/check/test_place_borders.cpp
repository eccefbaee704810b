// Hypotheses about places at their borders: shapes that are too small or too large for one, and
// values that are as large as what counts.
#include "gradus/tests/check/evidence_cases.h"

namespace gradus::check::evidence_cases {

TEST_CASE("operands are transposed where two axes of two or more agree, and there alone") {
  for (const Index n : {Index{1}, Index{2}, Index{3}}) {
    const auto side = static_cast<std::int64_t>(n);
    Evidence e = right({side, 2}, {side, 4}, plain_entry);
    const Matrix numeric = e.inputs[0].numeric;
    e.inputs[0].analytic = matrix(numeric.rows, numeric.columns, [&](Index i, Index j) {
      return numeric(j / 2 * 4 + i % 4, i / 4 * 2 + j % 2);
    });
    const Comparison d(e);
    CAPTURE(n);
    CHECK(operand_transposed(d).name == (n > 1 ? "OPERAND TRANSPOSED" : ""));
  }
}

TEST_CASE("axes are looked for in other orders where there are two to four") {
  for (const Shape& shape : {Shape{4}, Shape{2, 2}, Shape{2, 1, 2}, Shape{2, 1, 1, 2}}) {
    Evidence e = right(shape, {3}, plain_entry);
    const Matrix numeric = e.inputs[0].numeric;
    e.inputs[0].analytic = matrix(3, 4, [&](Index i, Index j) {
      return numeric(i, j == 1 ? 2 : j == 2 ? 1 : j);
    });
    const Comparison d(e);
    CHECK(transposed(d).name == (shape.size() > 1 ? "TRANSPOSED" : ""));
  }
}

TEST_CASE("a gradient that is another's is the other's within a millionth") {
  for (const double off : {0.9995, 1.0005}) {
    Evidence e = right({2}, {2}, plain_entry);
    e.inputs[0].analytic = e.inputs[1].numeric;
    Matrix& other = e.inputs[1].analytic;
    const double most = largest_of(other.values);
    double& largest =
        *std::max_element(other.values.begin(), other.values.end(),
                          [](double a, double b) { return std::abs(a) < std::abs(b); });
    largest -= (largest > 0 ? 1 : -1) * off * 1e-6 * most;
    CAPTURE(off);
    CHECK(swapped(Comparison(e)).name == (off > 1 ? "SWAPPED" : "SAME AS ANOTHER"));
  }
}

TEST_CASE("a comparison tells something where it is known to a thousandth") {
  for (const double share : {0.9995, 1.0005}) {
    Evidence e = right({2}, {2}, plain_entry);
    e.inputs[0].analytic(1, 0) += 1;
    e.inputs[0].unsure = share * 1e-3 / 20;
    CHECK(Comparison(e).telling() == (share < 1));
  }
}

TEST_CASE("what is lost of a sum is told by its place, if that has a name and is not all") {
  Evidence e = right({3}, {2, 2}, plain_entry);
  const Matrix numeric = e.inputs[0].numeric;
  const auto lost = [&](const std::vector<Index>& rows) {
    e.inputs[0].analytic = matrix(4, 3, [&](Index i, Index j) {
      return std::find(rows.begin(), rows.end(), i) == rows.end() ? numeric(i, j) : 0;
    });
    return left_out(Comparison(e)).why;
  };
  const std::string sum =
      "an element that several outputs depend on gets the gradient of some of them only";
  CHECK(lost({0, 1}) == sum);
  CHECK(lost({0, 3}) == sum);
  e.inputs[0].analytic = matrix(4, 3, [&](Index i, Index j) {  // all of one, and a part of another
    return j == 1 || (i == 0 && j == 0) ? 0 : numeric(i, j);
  });
  CHECK(left_out(Comparison(e)).why == sum);
}

TEST_CASE("what is broadcast to fewer axes, or is a single value, is no spread") {
  CHECK(spread({1, 2}, {1, 2}, {2}).empty());
  CHECK(spread({1, 2, 3, 4}, {2, 2}, {2}).empty());
  CHECK(spread({1, 2, 3, 4}, {2, 2}, {}).empty());
  CHECK(spread({1}, {1}, {2}).empty());
  CHECK(spread({1, 2}, {2}, {2, 2}) == Values{1, 2, 1, 2});
}

TEST_CASE("the error map tells signs of the smallest and largest numbers") {
  CHECK(map_character(1e200, -1e200) == '!');
  CHECK(map_character(1e-200, -1e-200) == '!');
  CHECK(map_character(1, -2) == '!');
  CHECK(map_character(1, 0) == '+');
  CHECK(map_character(-1, 0) == '+');
}

}  // namespace gradus::check::evidence_cases
