#include <cmath>
#include <iostream>
#include <vector>

#include <gradus/check/raw/check.h>

using Vector = std::vector<double>;

Vector tanh_of(const Vector& x) {
  Vector y;
  for (const double v : x) y.push_back(std::tanh(v));
  return y;
}

Vector right(const Vector& x, const Vector& dy) {
  Vector dx;
  for (std::size_t i = 0; i < x.size(); ++i)
    dx.push_back(dy[i] * (1 - std::tanh(x[i]) * std::tanh(x[i])));
  return dx;
}

Vector wrong(const Vector&, const Vector& dy) { return dy; }

int main() {
  const Vector x{0.5, -1.25, 2.0};
  const gradus::check::Report good = gradus::check::raw("tanh", tanh_of, right, x);
  const gradus::check::Report bad = gradus::check::raw("tanh, dy only", tanh_of, wrong, x);
  std::cout << good << bad;
  return good ? (bad ? 0 : 1) : 2;  // 1: the fault was not detected
}
