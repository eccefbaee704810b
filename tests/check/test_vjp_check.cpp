// Whole checks of small functions: each call of forward and of the derivative, and each number of
// the report. What changes where, how often and in what order a function is asked shows here.
#include "gradus/tests/check/recorded.h"

namespace gradus::check::recorded {
namespace {

using golden::Page;

/// y = [a₀b₀, a₁b₁a₀, a₀ + b₁²]
Subject products() {
  return {"products",
          {{"a", {2}, {0.75, -2}}, {"b", {2}, {3, 0.5}}},
          {[](const Arguments& in) {
             const Values &a = in[0], &b = in[1];
             return Values{a[0] * b[0], a[1] * b[1] * a[0], a[0] + b[1] * b[1]};
           },
           [](const Arguments& in, const Values& dy) {
             const Values &a = in[0], &b = in[1];
             return Arguments{{dy[0] * b[0] + dy[1] * a[1] * b[1] + dy[2], dy[1] * b[1] * a[0]},
                              {dy[0] * a[0], dy[1] * a[1] * a[0] + 2 * dy[2] * b[1]}};
           }}};
}

/// The same with a gradient that `spoil` changes.
Subject spoiled(Subject s, const std::string& how,
                const std::function<void(Arguments&, const Values& dy)>& spoil) {
  s.name += " " + how;
  s.functions.vjp = [right = s.functions.vjp, spoil](const Arguments& in, const Values& dy) {
    Arguments dx = right(in, dy);
    spoil(dx, dy);
    return dx;
  };
  return s;
}

/// Element by element, with a derivative.
Subject elementwise(const std::string& name, const Values& x, double (*f)(double),
                    double (*df)(double)) {
  return {name,
          {{"x", {}, x}},
          {[f](const Arguments& in) {
             Values y;
             for (const double v : in[0]) y.push_back(f(v));
             return y;
           },
           [df](const Arguments& in, const Values& dy) {
             Values dx;
             for (std::size_t i = 0; i < dy.size(); ++i) dx.push_back(dy[i] * df(in[0][i]));
             return Arguments{dx};
           }}};
}

double square(double x) { return x * x; }
double twice(double x) { return 2 * x; }
double relu(double x) { return x > 0 ? x : 0; }
double sigma(double x) { return x > 0 ? 1 : 0; }
double half_sigma(double x) { return x > 0 ? 0.5 : 0; }

/// The largest, and what each of them is paid.
Subject maximum(double share) {
  return {
      "maximum",
      {{"x", {4}, {1, 3, 3, -2}}},
      {[](const Arguments& in) { return Values{*std::max_element(in[0].begin(), in[0].end())}; },
       [share](const Arguments& in, const Values& dy) {
         Values dx(4, 0.0);
         for (std::size_t j = 0; j < 4; ++j) dx[j] = in[0][j] == 3 ? share * dy[0] : 0;
         return Arguments{dx};
       }}};
}

/// y = A x with A of 0.25 and 1.5, of so many outputs.
Subject wide(std::size_t rows, std::size_t columns) {
  const auto a = [](std::size_t i, std::size_t j) {
    return (static_cast<double>((i * 7 + j * 5) % 11) - 4.5) / 4;
  };
  Values x(columns);
  for (std::size_t j = 0; j < columns; ++j) x[j] = 1.5 + 0.25 * static_cast<double>(j);
  return {"wide",
          {{"x", {}, x}},
          {[=](const Arguments& in) {
             Values y(rows, 0.0);
             for (std::size_t i = 0; i < rows; ++i)
               for (std::size_t j = 0; j < columns; ++j) y[i] += a(i, j) * in[0][j] * in[0][j];
             return y;
           },
           [=](const Arguments& in, const Values& dy) {
             Values dx(columns, 0.0);
             for (std::size_t i = 0; i < rows; ++i)
               for (std::size_t j = 0; j < columns; ++j) dx[j] += 2 * a(i, j) * in[0][j] * dy[i];
             return Arguments{dx};
           }}};
}

struct Choice {
  std::string name;
  RawOptions options;
};

std::vector<Choice> choices() {
  RawOptions rtol, coarse, sampled, full, seed, upstream, shape, alone, few, bent;
  rtol.rtol = 1e-3;
  rtol.atol = 1e-2;
  coarse.resolution = 1e-2;
  sampled.mode = Mode::projections;
  sampled.rows = 2;
  sampled.columns = 1;
  sampled.projections = 2;
  full.mode = Mode::full;
  seed.seed = 7;
  upstream.upstream = {1, -2, 0.5};
  shape.output_shape = {3, 1};
  alone.beside = false;
  few.findings = 1;
  few.projections = 0;
  bent.kinks = {{0, 0.0, 0.25}, {0, 3.0, 1}};
  return {{"as it is", {}},      {"rtol", rtol}, {"coarse", coarse},     {"sampled", sampled},
          {"full", full},        {"seed", seed}, {"upstream", upstream}, {"shape", shape},
          {"not beside", alone}, {"few", few},   {"kinks", bent}};
}

void show_all(Page& page, const std::vector<Subject>& subjects) {
  for (const Subject& s : subjects)
    for (const Choice& choice : choices()) show(page, choice.name, s, choice.options);
}

const auto kElement = [](Arguments& dx, const Values&) { dx[0][1] += 0.25; };
const auto kOutput = [](Arguments& dx, const Values& dy) { dx[1][1] -= dy[1]; };

}  // namespace

TEST_CASE("checks of right derivatives are golden/check/right.txt") {
  Page page;
  show_all(page, {products(), elementwise("squares", {1, -0.5, 2}, square, twice)});
  page.compare("right.txt");
}

TEST_CASE("checks at special points are golden/check/special.txt") {
  Page page;
  show_all(page, {elementwise("zeros", {0, 0, 0}, square, twice),
                  elementwise("equal", {2, 1.5, 2}, square, twice),
                  elementwise("unit norm", {0.6, 0.8}, square, twice),
                  elementwise("single", {0.5}, square, twice)});
  page.compare("special.txt");
}

TEST_CASE("checks at kinks are golden/check/kinks.txt") {
  Page page;
  show_all(page,
           {elementwise("relu", {0, 3, -1}, relu, sigma),
            elementwise("half relu", {0, 1e-5, -1}, relu, half_sigma), maximum(0.5), maximum(1)});
  page.compare("kinks.txt");
}

TEST_CASE("checks of wrong derivatives are golden/check/wrong.txt") {
  Page page;
  show_all(page, {spoiled(products(), "element", kElement), spoiled(products(), "output", kOutput),
                  spoiled(products(), "sign", [](Arguments& dx, const Values&) {
                    for (double& v : dx[1]) v = -v;
                  })});
  page.compare("wrong.txt");
}

TEST_CASE("checks of more wrong derivatives are golden/check/more_wrong.txt") {
  Page page;
  show_all(page, {spoiled(products(), "nan",
                          [](Arguments& dx, const Values&) { dx[0][0] = std::nan(""); }),
                  spoiled(products(), "not linear",
                          [](Arguments& dx, const Values& dy) { dx[1][0] = dy[0] * dy[0] * 0.75; }),
                  spoiled(products(), "ignores dy", [](Arguments& dx, const Values&) {
                    dx = {{1, 2}, {3, 4}};
                  })});
  page.compare("more_wrong.txt");
}

TEST_CASE("checks that are sampled are golden/check/sampled.txt") {
  Page page;
  RawOptions sampled, small;
  sampled.mode = Mode::projections;
  sampled.rows = 3;
  sampled.columns = 4;
  small.rows = 3;
  small.columns = 4;
  const auto wrong = [](std::size_t j, bool by_output) {
    return [=](Arguments& dx, const Values& dy) { dx[0][j] += by_output ? dy[5] : dy[0] + dy[8]; };
  };
  for (const auto& [rows, columns] : {std::pair{9, 7}, {300, 3}, {2, 6}}) {
    show(page, "sampled", wide(rows, columns), sampled);
    show(page, "automatic", wide(rows, columns), small);
    if (rows != 9) continue;
    for (const bool by_output : {true, false})
      for (const std::size_t j : {1U, 5U})
        show(page, golden::word(j), spoiled(wide(rows, columns), "wrong", wrong(j, by_output)),
             sampled);
  }
  page.compare("sampled.txt");
}

TEST_CASE("inputs without a gradient, empty ones, and no output") {
  Page page;
  Subject s = products();
  s.inputs[1].differentiable = false;
  s.functions.vjp = [right = s.functions.vjp](const Arguments& in, const Values& dy) {
    return Arguments{right(in, dy)[0], {}};
  };
  show_all(page, {s});
  show(page, "empty input", elementwise("nothing", {}, square, twice), {});
  Subject flat = elementwise(
      "flat", {1, 2}, [](double) { return 0.0; }, [](double) { return 0.0; });
  show(page, "right", flat, {});
  Subject top = elementwise(
      "top", {1, 2}, [](double x) { return -square(x - 1); },
      [](double x) { return 2 - twice(x); });
  show(page, "one of two", top, {});
  show(page, "alone",
       elementwise(
           "top", {1}, [](double x) { return -square(x - 1); },
           [](double x) { return 3 * (2 - twice(x)); }),
       {});
  page.compare("few_gradients.txt");
}

}  // namespace gradus::check::recorded
