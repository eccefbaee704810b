#include "gradus_check.hpp"

using Vector = std::vector<double>;
Vector square(const Vector& x) { return {x[0] * x[0], x[1] * x[1]}; }
Vector right(const Vector& x, const Vector& dy) { return {2 * x[0] * dy[0], 2 * x[1] * dy[1]}; }
Vector wrong(const Vector& x, const Vector& dy) { return {x[0] * dy[0], x[1] * dy[1]}; }

int main() {
  const Vector x{0.5, -1.25};
  std::cout << gradus::check::raw("right", square, right, x);
  const auto report = gradus::check::raw("wrong", square, wrong, x);
  if (!report) std::cout << report;
}
