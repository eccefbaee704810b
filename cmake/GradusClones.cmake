# Sets GRADUS_CLONES_WORK: whether target_clones, as base/kernel.h spells it, compiles without a
# warning, links and runs, on a function and on a function template.
include(CheckCXXSourceRuns)

set(gradus_clones_source [[
#define CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
template <class T> __attribute__((always_inline)) inline T twice(T x) { return x + x; }
template <class T> CLONES void each(T* x, int n) { for (int i = 0; i < n; ++i) x[i] = twice(x[i]); }
template void each<float>(float*, int);
CLONES void all(float* x, int n) { for (int i = 0; i < n; ++i) x[i] = twice(x[i]); }
int main() {
  float x[4] = {1, 2, 3, 4};
  each(x, 4);
  all(x, 4);
  return x[3] == 16 ? 0 : 1;
}
]])
if(CMAKE_CROSSCOMPILING)
  set(GRADUS_CLONES_WORK OFF)
else()
  set(CMAKE_REQUIRED_FLAGS "-O2 -Werror")
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_runs("${gradus_clones_source}" GRADUS_CLONES_WORK)
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_QUIET)
endif()
if(NOT GRADUS_CLONES_WORK)
  message(STATUS "Gradus: one instruction set only (this compiler clones no kernels)")
endif()
