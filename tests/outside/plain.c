/* The checker in a C program. */
#include <math.h>
#include <stdio.h>

#include <gradus/check/c/gradus_check.h>

static int forward(void* user, const double* const* x, double* y) {
  (void)user;
  for (int i = 0; i < 3; ++i) y[i] = tanh(x[0][i]);
  return 0;
}

static int right(void* user, const double* const* x, const double* dy, double* const* dx) {
  (void)user;
  for (int i = 0; i < 3; ++i) dx[0][i] = dy[i] * (1 - tanh(x[0][i]) * tanh(x[0][i]));
  return 0;
}

static int wrong(void* user, const double* const* x, const double* dy, double* const* dx) {
  (void)user;
  (void)x;
  for (int i = 0; i < 3; ++i) dx[0][i] = dy[i];
  return 0;
}

static int verdict(const char* name, gradus_vjp vjp) {
  const int64_t shape[] = {3};
  const double x[] = {0.5, -1.25, 2.0};
  gradus_check* check = gradus_check_new(name);
  gradus_check_input(check, "x", 1, shape, x, 1);
  gradus_check_output(check, NULL, 1, shape);
  const int result = gradus_check_run(check, forward, vjp, NULL, NULL);
  fputs(result == GRADUS_ERROR ? gradus_check_error(check) : gradus_check_report(check, "text"),
        stdout);
  gradus_check_free(check);
  return result;
}

int main(void) {
  if (gradus_check_version() != GRADUS_CHECK_VERSION) return 3;
  if (verdict("tanh", right) != GRADUS_PASS) return 2;
  return verdict("tanh, dy only", wrong) == GRADUS_FAIL ? 1 : 0; /* 1: detected */
}
