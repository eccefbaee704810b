// The gradient checker on plain vectors: a right gradient passes, a wrong one fails.
#include <cstdio>

#include <gradus/check/raw/check.h>

namespace raw = gradus::check::core;

namespace {

raw::Report square_with(double derivative_factor) {
  const auto forward = [](const raw::Arguments& in) {
    raw::Values y;
    for (const double x : in[0]) y.push_back(x * x);
    return y;
  };
  const auto vjp = [derivative_factor](const raw::Arguments& in, const raw::Values& dy) {
    raw::Values dx;
    for (std::size_t i = 0; i < dy.size(); ++i) dx.push_back(derivative_factor * in[0][i] * dy[i]);
    return raw::Arguments{dx};
  };
  return raw::check_vjp("square", forward, vjp, {{"x", {3}, {0.5, -1.25, 2.0}}});
}

}  // namespace

int main() {
  const bool right = static_cast<bool>(square_with(2));
  const bool wrong = static_cast<bool>(square_with(3));
  std::printf("2x: %s, 3x: %s\n", right ? "pass" : "fail", wrong ? "pass" : "fail");
  return right && !wrong ? 0 : 1;
}
