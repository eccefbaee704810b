// Checks a derivative against finite differences, from C or any language that can call C.
//
//   gradus_check* check = gradus_check_new("softmax");
//   gradus_check_input(check, "x", 1, shape, x, 1);
//   gradus_check_output(check, NULL, 1, shape);
//   if (gradus_check_run(check, softmax, softmax_vjp, NULL, NULL) != GRADUS_PASS)
//     fputs(gradus_check_report(check, "text"), stderr);
//   gradus_check_free(check);
//
// Arrays are row-major doubles. On misuse, functions that return an int return GRADUS_ERROR, and
// gradus_check_error returns the message. No function throws. A check is not thread-safe. A
// returned string is valid until the next call of the same function with the same check.
#pragma once

// NOLINTBEGIN(modernize-*): C lacks <cstdint> and `using`
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Incremented by each incompatible change.
enum { GRADUS_CHECK_VERSION = 2 };

typedef struct gradus_check gradus_check;

enum {
  GRADUS_PASS = 0,
  GRADUS_FAIL = 1,
  GRADUS_INCONCLUSIVE = 2,
  GRADUS_UNIMPLEMENTED = 3,
  GRADUS_SHAPE = 4,
  GRADUS_ERROR = -1
};

// Reads input k from x[k] and writes y. Returns 0 on success.
typedef int (*gradus_forward)(void* user, const double* const* x, double* y);

// Writes the gradient of input k to dx[k], which is NULL if k is not differentiable. Returns 0 on
// success, GRADUS_UNIMPLEMENTED if the derivative does not exist yet, or GRADUS_SHAPE if it has a
// wrong number of values.
typedef int (*gradus_vjp)(void* user, const double* const* x, const double* dy, double* const* dx);

// Returns the GRADUS_CHECK_VERSION of the linked library.
int gradus_check_version(void);

// Returns NULL if out of memory.
gradus_check* gradus_check_new(const char* name);
void gradus_check_free(gradus_check* check);

// Adds a copy of an input. Rank 0 is a scalar. shape (for rank 0) and name may be NULL.
int gradus_check_input(gradus_check* check, const char* name, int rank, const int64_t* shape,
                       const double* values, int differentiable);

// Sets the shape of y. Default: a scalar. If f has several outputs, call this for each one: y then
// contains their values in sequence. The report uses the names; NULL for a single output.
int gradus_check_output(gradus_check* check, const char* name, int rank, const int64_t* shape);

// Sets "rtol", "atol", "resolution", "seed", "full", "sampled", "quick", "accumulates", "budget" in
// seconds (docs/checking/cpp.md), or "ulp", the machine epsilon (2^-23 for float).
int gradus_check_set(gradus_check* check, const char* option, double value);

// Runs the check and returns the verdict. If forward computes in float, `reference` is the same
// function in double; otherwise NULL. `user` is passed to each function.
int gradus_check_run(gradus_check* check, gradus_forward forward, gradus_vjp vjp,
                     gradus_forward reference, void* user);

// Sets the report's message. Call it in a function under test before returning non-zero.
void gradus_check_says(gradus_check* check, const char* message);

// Adds the caller's own check of the gradient of `input`, after a run. A NULL note means that the
// check passed. Otherwise the report contains the note and its cause: name, reason, suggestion.
int gradus_check_condition(gradus_check* check, int input, const char* note,
                           const char* const cause[3]);

// Adds a remark to the report, after a run.
int gradus_check_note(gradus_check* check, const char* note);

// Sets the line of code at which CI shows the report, usually that of the derivative.
int gradus_check_place(gradus_check* check, const char* file, int line);

// Returns the report as "text", "colour", "json", "junit" (XML for CI), "sarif" (SARIF 2.1.0), or
// "github" (an annotation for GitHub; "" if the check passed). Returns "" before a run.
const char* gradus_check_report(gradus_check* check, const char* form);

const char* gradus_check_error(const gradus_check* check);

#ifdef __cplusplus
}
#endif
// NOLINTEND(modernize-*)
