// Invalid arguments, which must each cause one error that states the fix. refused.cmake compiles
// the cases.
#include <cmath>
#include <iostream>
#include <map>
#include <vector>

#include <gradus/check/raw/check.h>

using V = std::vector<double>;

struct Own {
  double a;
  V b;
};
struct Model {
  double f(double x) const { return x; }
};

double square(double x) { return x * x; }
double by_x(double x) { return 2 * x; }

template <class F, class D, class... A>
void look(F f, D d, const A&... inputs) {
  std::cout << gradus::check::raw("f", f, d, inputs...);
}

void refused() {
#if CASE == 1  // expect: an input must be a number, or a vector, array, span or C array
  look([](const Own& s) { return s.a; }, [](const Own& s) { return s; }, Own{});
#elif CASE == 2   // expect: an input must be a number, or a vector, array, span or C array
  look([](const auto& s) { return s.a; }, [](const auto& s, auto) { return s; }, Own{});
#elif CASE == 3   // expect: an overloaded function is only accepted for one number
  std::cout << gradus::check::raw("f", std::exp, by_x, V{1, 2});
#elif CASE == 4   // expect: For a member function use method(&C::f, object)
  look(&Model::f, by_x, 1.0);
#elif CASE == 5   // expect: accept the given inputs
  look([](double x, double y) { return x * y; }, by_x, 1.0);
#elif CASE == 6   // expect: forward must be y = f(inputs
  look([](double) {}, by_x, 1.0);
#elif CASE == 7   // expect: give at least one differentiable input
  look(square, by_x);
#elif CASE == 8   // expect: the derivative must be vjp(inputs
  look(
      square, [](double x, double, double, double) { return x; }, 1.0);
#elif CASE == 9   // expect: a function must return a type that inputs may have
  look([](double x) { return std::map<int, double>{{1, x}}; }, by_x, 1.0);
#elif CASE == 10  // expect: a function must return a type that inputs may have
  look(
      square,
      [](double x) {
        return std::map<int, double>{{1, x}};
      },
      1.0);
#else
  look(square, by_x, 1.0);
#endif
}
