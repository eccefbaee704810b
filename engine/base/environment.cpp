#include "gradus/engine/base/environment.h"

#include <cstdlib>

namespace gradus::environment {

const char* value_of(Variable variable) {
  constexpr const char* kNames[] = {"GRADUS_NUM_THREADS", "OMP_NUM_THREADS", "GRADUS_SIMD",
                                    "GRADUS_BLAS",        "GRADUS_BITS",     "GRADUS_FORMULA",
                                    "GRADUS_CHECK_NAN",   "GRADUS_TRACE",    "GRADUS_TRACE_STEP",
                                    "GRADUS_SILENCE"};
  const char* value = std::getenv(kNames[static_cast<int>(variable)]);
  return value != nullptr ? value : "";
}

bool is_on(Variable variable) {
  const char first = *value_of(variable);
  return first != '\0' && first != '0';
}

}  // namespace gradus::environment
