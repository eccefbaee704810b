#include <iostream>

#include <gradus/check/adapters/armadillo.h>
#include <gradus/check/raw/check.h>

namespace check = gradus::check;
using arma::mat;

int main() {
  const mat a{{0.5, -1.25, 2.0}, {0.75, 1.5, -0.25}}, b{{1.0, 3.0}, {-2.0, 0.5}, {0.25, -1.0}};
  const auto f = [](const mat& u, const mat& v) -> mat { return u * v; };
  const auto right = [](const mat& u, const mat& v, const mat& dy) {
    return std::tuple<mat, mat>(dy * v.t(), u.t() * dy);
  };
  const auto wrong = [](const mat& u, const mat& v, const mat& dy) {
    return std::tuple<mat, mat>(dy * v.t(), u.t() * dy.t());
  };
  const arma::vec x{0.5, 2.0};
  const check::Report good = check::raw("product", f, right, a, b);
  const check::Report norm = check::raw(
      "norm", [](const arma::vec& v) { return arma::dot(v, v); },
      [](const arma::vec& v) -> arma::vec { return 2 * v; }, x);
  const check::Report bad = check::raw("product, transposed", f, wrong, a, b);
  std::cout << good << norm << bad;
  return good && norm ? (bad ? 0 : 1) : 2;
}
