#include <algorithm>
#include <iomanip>
#include <limits>
#include <locale>
#include <sstream>

#include "gradus/engine/strided.h"
#include "gradus/engine/tensor.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/catch.h"

namespace gradus {

TEST_CASE("print aligns numbers in columns of one width") {
  CHECK(to_string(tensor({{1.5, -20.25}, {0, 3}})) ==
        "[[  1.5000, -20.2500],\n"
        " [  0.0000,   3.0000]]");
  CHECK(to_string(tensor({1, -2, 30})) == "[ 1., -2., 30.]");
  CHECK(to_string(indices({7, -12})) == "[  7, -12]");
  CHECK(to_string(tensor(2.5)) == "2.5000");
  CHECK(to_string(tensor(-3, Dtype::f64)) == "-3.");
}

TEST_CASE("print writes large and small numbers with an exponent") {
  const auto f64 = [](std::initializer_list<double> all) {
    return to_string(tensor(all, Dtype::f64));
  };
  CHECK(f64({0.0001, 0.5}) == "[0.0001, 0.5000]");
  CHECK(f64({0.00009999, 0.5}) == "[9.9990e-05, 5.0000e-01]");
  CHECK(f64({99'999.5, 1}) == "[99999.5000,     1.0000]");
  CHECK(f64({-123'456.5, 2}) == "[-1.2346e+05,  2.0000e+00]");
  CHECK(f64({99'999'999.0, 1}) == "[99999999.,        1.]");  // integers have no decimals
  CHECK(f64({-100'000'000.0, 1}) == "[-1.0000e+08,  1.0000e+00]");
}

TEST_CASE("print shows infinity, NaN, bool, undefined and empty tensors") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(to_string(tensor({1, inf, -inf, std::numeric_limits<double>::quiet_NaN()})) ==
        "[  1.,  inf, -inf,  nan]");
  const bool flags[] = {true, false};
  CHECK(to_string(tensor(std::span<const bool>(flags), {2})) == "[ true, false]");
  CHECK(to_string(Tensor()) == "undefined");
  CHECK(to_string(zeros({2, 0, 3})) == "[] of shape [2, 0, 3]");
}

TEST_CASE("print separates blocks and shows the elements of views") {
  CHECK(to_string(tensor({{{1, 2}}, {{3, 4}}})) ==
        "[[[1., 2.]],\n"
        "\n"
        " [[3., 4.]]]");
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  CHECK(to_string(kernel::strided_view(x, {3, 2}, {1, 3}, 0)) ==
        "[[1., 4.],\n [2., 5.],\n [3., 6.]]");
  CHECK(to_string(kernel::strided_view(x, {2}, {3}, 1)) == "[2., 5.]");
  CHECK(to_string(kernel::strided_view(x, {2, 2}, {0, 0}, 5)) == "[[6., 6.],\n [6., 6.]]");
}

TEST_CASE("print abbreviates big tensors and wraps long rows") {
  CHECK(to_string(arange(2000)) == "[   0,    1,    2, …, 1997, 1998, 1999]");
  const std::string big = to_string(arange(1200).view({300, 4}));
  CHECK(big ==
        "[[   0,    1,    2,    3],\n"
        " [   4,    5,    6,    7],\n"
        " [   8,    9,   10,   11],\n"
        " …,\n"
        " [1188, 1189, 1190, 1191],\n"
        " [1192, 1193, 1194, 1195],\n"
        " [1196, 1197, 1198, 1199]]");
  CHECK(to_string(arange(1400).reshape({200, 7}))
            .starts_with("[[   0,    1,    2, …,    4,    5,    6],\n"));
  CHECK(to_string(arange(1000)).find("…") == std::string::npos);
  for (const std::int64_t end : {116, 117, 130}) {  // lines of 79, 84 and 150 columns
    const std::string row = to_string(arange(100, end));
    CHECK(std::min(row.find('\n'), row.size()) <= 80);
    CHECK((row.find('\n') != std::string::npos) == (end > 116));
  }
}

TEST_CASE("print ignores and preserves the format of its stream") {
  std::ostringstream out;
  out << std::hex << std::setprecision(2) << std::scientific << std::setfill('*');
  const std::ios::fmtflags flags = out.flags();
  out << tensor({255, 1.5});
  CHECK(out.str() == "[255.0000,   1.5000]");
  CHECK(out.flags() == flags);
  CHECK(out.precision() == 2);
  CHECK(out.fill() == '*');
}

TEST_CASE("print writes numbers in the C locale") {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale(), new Comma));
  const std::string written = to_string(tensor({1234.5}));
  std::locale::global(before);
  CHECK(written == "[1234.5000]");
}

}  // namespace gradus
