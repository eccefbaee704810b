// The only file that reads environment variables.
#pragma once

namespace gradus::environment {

/// The environment variables that Gradus reads.
enum class Variable {
  num_threads,      // GRADUS_NUM_THREADS: engine/base/num_threads.h
  omp_num_threads,  // OMP_NUM_THREADS, used if GRADUS_NUM_THREADS is not set
  simd,             // GRADUS_SIMD=avx512|avx2|baseline: engine/base/simd.h
  blas,             // GRADUS_BLAS=builtin|library: engine/gemm/backend.h
  bits,             // GRADUS_BITS=fast|portable: engine/base/bits.h
  formula,          // GRADUS_FORMULA=1: fused ops run as formulas, engine/grad_mode.h
  check_nan,        // GRADUS_CHECK_NAN=1: trace/nan_finder.h
  trace,            // GRADUS_TRACE=FILE.html: trace/on_request.cpp
  trace_step,       // GRADUS_TRACE_STEP=N
  silence           // GRADUS_SILENCE=SECONDS, after which a silent process counts as lost
};

/// Returns the variable's value, or "" if it is not set.
const char* value_of(Variable variable);

/// True if the value is not empty and does not begin with 0.
bool is_on(Variable variable);

}  // namespace gradus::environment
