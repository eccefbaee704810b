#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gradus/check/c/gradus_check.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_c_interface {
namespace {

constexpr std::int64_t kShape[] = {2, 2};
constexpr double kX[] = {0.5, -1.25, 2, 0.75}, kW[] = {3, 7, -2, 5};

int product(void*, const double* const* x, double* y) {
  for (int i = 0; i < 4; ++i) y[i] = x[0][i] * x[1][i];
  return 0;
}

int product_vjp(void* user, const double* const* x, const double* dy, double* const* dx) {
  const std::string wrong = static_cast<const char*>(user);
  for (int i = 0; i < 4; ++i) dx[0][i] = dy[i] * x[wrong == "swapped" ? 0 : 1][i];
  if (wrong == "past the end") dx[0][4] = 1;
  if (wrong == "writes to x") const_cast<double*>(x[0])[1] = 4;
  if (dx[1])
    for (int i = 0; i < 4; ++i) dx[1][i] = dy[i] * x[0][i];
  return wrong == "fails" ? 1 : 0;
}

struct Checked {
  gradus_check* check = gradus_check_new("product");
  explicit Checked(bool weights = true) {
    REQUIRE(gradus_check_input(check, "x", 2, kShape, kX, 1) == 0);
    REQUIRE(gradus_check_input(check, nullptr, 2, kShape, kW, weights) == 0);
    REQUIRE(gradus_check_output(check, nullptr, 2, kShape) == 0);
  }
  ~Checked() { gradus_check_free(check); }
  Checked(const Checked&) = delete;

  int run(std::string wrong) {
    return gradus_check_run(check, product, product_vjp, nullptr, wrong.data());
  }
  std::string text(const char* form = "text") const { return gradus_check_report(check, form); }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("C interface: a check returns a verdict, and a report as text, JSON and XML") {
  CHECK(gradus_check_version() == GRADUS_CHECK_VERSION);
  Checked c;
  CHECK(c.text().empty());
  CHECK(c.run("right") == GRADUS_PASS);
  CHECK(has(c.text(), "GRADCHECK PASS  product\n  input 0 'x' [2,2]: ok"));
  CHECK(has(c.text(), "input 1 'x1' [2,2]: ok"));
  CHECK(c.run("swapped") == GRADUS_FAIL);
  CHECK(has(c.text(), "SAME AS ANOTHER"));
  CHECK(has(c.text("json"), "\"verdict\": \"FAIL\""));
  CHECK(has(c.text("junit"), "<failure message=\"FAIL\">GRADCHECK FAIL"));
  CHECK(has(c.text("colour"), "\x1b["));
}

TEST_CASE("C interface: SARIF and annotations name the place") {
  Checked c;
  CHECK(c.text("github").empty());
  CHECK(gradus_check_place(c.check, "ops/product.c", 12) == 0);
  CHECK(c.run("swapped") == GRADUS_FAIL);
  CHECK(
      has(c.text("github"), "::error file=ops/product.c,line=12,title=GRADCHECK FAIL::product: d"));
  CHECK(has(c.text("sarif"), "{\"uri\": \"ops/product.c\"}, \"region\": {\"startLine\": 12}"));
  CHECK(c.run("right") == GRADUS_PASS);
  CHECK(c.text("github").empty());
  CHECK(has(c.text("sarif"), "\"results\": []"));
}

TEST_CASE("C interface: forbidden writes and error codes fail") {
  Checked c;
  CHECK(c.run("past the end") == GRADUS_FAIL);
  CHECK(has(c.text(), "past the end of dx"));
  CHECK(c.run("writes to x") == GRADUS_FAIL);
  CHECK(has(c.text(), "the derivative changes x, which it must only read"));
  CHECK(c.run("fails") == GRADUS_FAIL);
  CHECK(has(c.text(), "the derivative throws: the function returned a value other than 0"));
}

TEST_CASE("C interface: the gradient of an input that is not differentiable is NULL") {
  Checked c(false);
  CHECK(c.run("right") == GRADUS_PASS);
  CHECK(has(c.text(), "not differentiable"));
}

TEST_CASE("C interface: findings of the caller are added to the report") {
  Checked c;
  const char* cause[] = {"UPSTREAM LAYOUT", "dy is read as if it were contiguous", "dy.strides()"};
  CHECK(gradus_check_condition(c.check, 0, nullptr, cause) == GRADUS_ERROR);
  CHECK(has(gradus_check_error(c.check), "no check was run"));
  REQUIRE(c.run("right") == GRADUS_PASS);
  CHECK(gradus_check_condition(c.check, 0, nullptr, cause) == GRADUS_PASS);
  CHECK(has(c.text(), "GRADCHECK PASS"));
  CHECK(gradus_check_condition(c.check, 1, "for a strided dy: dx1[0] is 1", cause) == GRADUS_FAIL);
  CHECK(has(c.text(), "GRADCHECK FAIL"));
  CHECK(has(c.text(), "for a strided dy: dx1[0] is 1"));
  CHECK(has(c.text(), "likely cause: UPSTREAM LAYOUT"));
  CHECK(has(c.text(), "2 conditions"));
}

TEST_CASE("C interface: findings name the output of a function with several outputs") {
  gradus_check* check = gradus_check_new("sum and square");
  REQUIRE(gradus_check_input(check, "x", 2, kShape, kX, 1) == 0);
  REQUIRE(gradus_check_output(check, "sum", 0, nullptr) == 0);
  REQUIRE(gradus_check_output(check, "square", 2, kShape) == 0);
  const gradus_forward f = [](void*, const double* const* x, double* y) {
    y[0] = x[0][0] + x[0][1] + x[0][2] + x[0][3];
    for (int i = 0; i < 4; ++i) y[1 + i] = x[0][i] * x[0][i];
    return 0;
  };
  const gradus_vjp vjp = [](void* wrong, const double* const* x, const double* dy,
                            double* const* dx) {
    for (int i = 0; i < 4; ++i) dx[0][i] = dy[0] + 2 * x[0][i] * dy[1 + i];
    if (wrong) dx[0][2] += dy[3];
    return 0;
  };
  CHECK(gradus_check_run(check, f, vjp, nullptr, nullptr) == GRADUS_PASS);
  int wrong = 0;
  CHECK(gradus_check_run(check, f, vjp, nullptr, &wrong) == GRADUS_FAIL);
  CHECK(has(gradus_check_report(check, "text"), "square[1,0]"));
  CHECK(has(gradus_check_report(check, "json"), "\"output_name\": \"square\""));
  gradus_check_free(check);
}

TEST_CASE("C interface: a derivative may be unimplemented, and callers may add notes") {
  Checked c;
  const gradus_vjp missing = [](void* check, const double* const*, const double*, double* const*) {
    gradus_check_says(static_cast<gradus_check*>(check), "no rule");
    return static_cast<int>(GRADUS_UNIMPLEMENTED);
  };
  CHECK(gradus_check_note(c.check, "early") == GRADUS_ERROR);
  CHECK(gradus_check_run(c.check, product, missing, nullptr, c.check) == GRADUS_UNIMPLEMENTED);
  CHECK(has(c.text(), "no rule"));
  CHECK(gradus_check_note(c.check, "measured on a Tuesday") == 0);
  CHECK(has(c.text(), "measured on a Tuesday"));
}

TEST_CASE("C interface: invalid calls are errors with a message") {
  Checked c;
  CHECK(gradus_check_set(c.check, "seed", 7) == 0);
  CHECK(gradus_check_set(c.check, "rtoll", 7) == GRADUS_ERROR);
  CHECK(has(gradus_check_error(c.check), "unknown option 'rtoll'. Options: rtol, atol"));
  CHECK(gradus_check_input(c.check, "z", -1, nullptr, kX, 1) == GRADUS_ERROR);
  CHECK(gradus_check_run(c.check, product, nullptr, nullptr, nullptr) == GRADUS_ERROR);
  CHECK(has(gradus_check_error(c.check), "is empty"));
  CHECK(gradus_check_set(c.check, "full", 1) == 0);
  CHECK(std::strlen(gradus_check_error(c.check)) == 0);
}

TEST_CASE("C interface: options change the check") {
  Checked c;
  CHECK(gradus_check_set(c.check, "ulp", 0x1p-23) == 0);
  CHECK(c.run("right") == GRADUS_INCONCLUSIVE);  // float without a reference
  CHECK(gradus_check_set(c.check, "resolution", 1e-3) == 0);
  CHECK(c.run("right") == GRADUS_PASS);
  CHECK(gradus_check_set(c.check, "accumulates", 1) == 0);
  CHECK(c.run("right") == GRADUS_FAIL);
  CHECK(has(c.text(), "OVERWRITES"));
  CHECK(gradus_check_set(c.check, "accumulates", 0) == 0);
  CHECK(c.run("right") == GRADUS_PASS);
}

TEST_CASE("C interface: a full check calls the function more often than a sampled check") {
  constexpr std::int64_t kMany[] = {300};
  const std::vector<double> x(300, 0.5);
  const gradus_forward twice = [](void* calls, const double* const* from, double* y) {
    ++*static_cast<int*>(calls);
    for (int i = 0; i < 300; ++i) y[i] = 2 * from[0][i];
    return 0;
  };
  const gradus_vjp back = [](void*, const double* const*, const double* dy, double* const* dx) {
    for (int i = 0; i < 300; ++i) dx[0][i] = 2 * dy[i];
    return 0;
  };
  gradus_check* check = gradus_check_new("twice");
  REQUIRE(gradus_check_input(check, "x", 1, kMany, x.data(), 1) == 0);
  REQUIRE(gradus_check_output(check, nullptr, 1, kMany) == 0);
  const auto calls_with = [&](const char* mode, double value) {
    int calls = 0;
    CHECK(gradus_check_set(check, mode, value) == 0);
    CHECK(gradus_check_run(check, twice, back, nullptr, &calls) == GRADUS_PASS);
    return calls;
  };
  const int full = calls_with("full", 1), sampled = calls_with("sampled", 1);
  CHECK(full > sampled);
  CHECK(calls_with("sampled", 0) == full);  // few enough elements to check all
  gradus_check_free(check);
}

}  // namespace gradus::testing::test_c_interface
