// Is this the derivative of that function? For C, and for every language that can call C.
//
//   gradus_check* check = gradus_check_new("softmax");
//   gradus_check_input(check, "x", 1, shape, x, 1);
//   gradus_check_output(check, 1, shape);
//   if (gradus_check_run(check, softmax, softmax_vjp, NULL, NULL) != GRADUS_PASS)
//     fputs(gradus_check_report(check, "text"), stderr);
//   gradus_check_free(check);
//
// Arrays are row-major doubles. No exception crosses this interface. What gives an int gives
// GRADUS_ERROR where it was called wrongly, and gradus_check_error then says how. One check belongs
// to one thread; a text lives until the same function is called again with that check.
#pragma once

// NOLINTBEGIN(modernize-*): C has neither <cstdint> nor `using`
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Rises where callers of before would break; functions that join leave it.
enum { GRADUS_CHECK_VERSION = 1 };

typedef struct gradus_check gradus_check;

enum { GRADUS_PASS = 0, GRADUS_FAIL = 1, GRADUS_INCONCLUSIVE = 2, GRADUS_ERROR = -1 };

// x[k] is input k. Writes y, which has the shape that gradus_check_output was given. Returns 0, or
// anything else if it failed.
typedef int (*gradus_forward)(void* user, const double* const* x, double* y);

// Writes the gradient by input k to dx[k], which is NULL for one that is not differentiable.
typedef int (*gradus_vjp)(void* user, const double* const* x, const double* dy, double* const* dx);

// The version of the library that is linked: compare it with GRADUS_CHECK_VERSION.
int gradus_check_version(void);

// NULL where there is no memory.
gradus_check* gradus_check_new(const char* name);
void gradus_check_free(gradus_check* check);

// One more input, copied. A rank of 0 is a single number; shape may then be NULL, as name may.
int gradus_check_input(gradus_check* check, const char* name, int rank, const int64_t* shape,
                       const double* values, int differentiable);

// The shape of y; without it y is a single number.
int gradus_check_output(gradus_check* check, int rank, const int64_t* shape);

// As docs/checking.md has them: "rtol", "atol", "resolution", "seed", "full", "sampled" and
// "accumulates" (dx is added to). "ulp": of the arithmetic, 2^-23 where that is float.
int gradus_check_set(gradus_check* check, const char* option, double value);

// Runs the check and gives the verdict. `reference` is forward in double where forward computes in
// float, or NULL. All are called with `user`.
int gradus_check_run(gradus_check* check, gradus_forward forward, gradus_vjp vjp,
                     gradus_forward reference, void* user);

// For a function under test that is about to return non-zero: what the report shall say of it.
void gradus_check_says(gradus_check* check, const char* message);

// After a run: the caller has looked at the gradient by `input` under a condition. It held where
// note is NULL; else the check fails, and the report says the note and the cause: its name, why,
// and what to try.
int gradus_check_condition(gradus_check* check, int input, const char* note,
                           const char* const cause[3]);

// After a run: the report as "text", in "colour", as "json", or as "junit" (XML
// for CI). "" before a run.
const char* gradus_check_report(gradus_check* check, const char* form);

const char* gradus_check_error(const gradus_check* check);

#ifdef __cplusplus
}
#endif
// NOLINTEND(modernize-*)
