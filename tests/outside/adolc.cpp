#include <iostream>

#include <adolc/adouble.h>
#include <adolc/taping.h>
#include <gradus/check/adapters/adolc.h>

namespace check = gradus::check;
using V = std::vector<double>;

V f(const V& x) { return {x[0] * std::exp(x[1]), x[0] * x[1]}; }

/// Records f. With `leaves_adouble`, the second output treats x[1] as a constant.
void record(short tape, const V& x, bool leaves_adouble) {
  trace_on(tape);
  adouble a[2];
  double y[2];
  a[0] <<= x[0];
  a[1] <<= x[1];
  adouble first = a[0] * exp(a[1]), second = a[0] * a[1];
  if (leaves_adouble) second = a[0] * x[1];
  first >>= y[0];
  second >>= y[1];
  trace_off();
}

int main() {
  const V x{0.5, -1.25};
  record(1, x, false);
  record(2, x, true);
  const check::Report good = check::adolc("tape", f, 1, x);
  const check::Report bad = check::adolc("tape, a number in it", f, 2, x);
  std::cout << good << bad;
  return good ? (bad ? 0 : 1) : 2;
}
