#include <cstdio>
#include <vector>

#include <gradus/check/raw/check.h>

namespace {

using Vector = std::vector<double>;

Vector square(const Vector& x) {
  Vector y;
  for (const double v : x) y.push_back(v * v);
  return y;
}

bool right_with(double derivative_factor) {
  const auto vjp = [derivative_factor](const Vector& x, const Vector& dy) {
    Vector dx;
    for (std::size_t i = 0; i < dy.size(); ++i) dx.push_back(derivative_factor * x[i] * dy[i]);
    return dx;
  };
  return static_cast<bool>(gradus::check::raw("square", square, vjp, Vector{0.5, -1.25, 2.0}));
}

}  // namespace

int main() {
  const bool right = right_with(2), wrong = right_with(3);
  std::printf("2x: %s, 3x: %s\n", right ? "pass" : "fail", wrong ? "pass" : "fail");
  return right && !wrong ? 0 : 1;
}
