// The environment variables of Gradus. Nothing else in the library reads them.
#pragma once

namespace gradus::environment {

enum class Variable {
  num_threads,      // GRADUS_NUM_THREADS: engine/base/num_threads.h
  omp_num_threads,  // OMP_NUM_THREADS, where that is not set
  simd,             // GRADUS_SIMD=avx512|avx2|baseline: engine/base/simd.h
  blas,             // GRADUS_BLAS=builtin|library: engine/gemm/backend.h
  formula,          // GRADUS_FORMULA=1: every operation as its formula, engine/grad_mode.h
  check_nan,        // GRADUS_CHECK_NAN=1: trace/nan_finder.h
  trace,            // GRADUS_TRACE=FILE.html: trace/on_request.cpp
  trace_step,       // GRADUS_TRACE_STEP=N
  silence           // GRADUS_SILENCE=SECONDS after which a process counts as lost
};

/// Its value; "" where it is not set.
const char* value_of(Variable variable);

/// Has it a value that does not begin with 0?
bool is_on(Variable variable);

}  // namespace gradus::environment
