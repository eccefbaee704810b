# Defines gradus::blas. GRADUS_BLAS is auto (prefers OpenBLAS), OpenBLAS or a FindBLAS vendor.
#
# A library is accepted if a program that calls cblas_sgemm links, because FindBLAS only checks
# Fortran names, and if its integers have 32 bits. No header is needed: engine/gemm/library.cpp
# declares the functions.
include(CheckCXXSourceCompiles)
include(CheckCXXSourceRuns)

set(gradus_blas_wanted "${GRADUS_BLAS}")
if(NOT gradus_blas_wanted)
  set(gradus_blas_wanted auto)
endif()

# gradus_try_blas(NAME LIBRARIES…): uses these libraries if none has been found.
macro(gradus_try_blas name)
  if(NOT GRADUS_BLAS_LIBRARIES AND NOT "${ARGN}" MATCHES "^$|NOTFOUND")
    set(CMAKE_REQUIRED_LIBRARIES ${ARGN})
    set(CMAKE_REQUIRED_QUIET ON)
    string(MAKE_C_IDENTIFIER "GRADUS_LINKS_${ARGN}" gradus_blas_links)
    check_cxx_source_compiles("extern \"C\" void cblas_sgemm(int, int, int, int, int, int, float,
      const float*, int, const float*, int, float, float*, int);
      int main() {
        float a = 2, c = 0;
        cblas_sgemm(101, 111, 111, 1, 1, 1, 1, &a, 1, &a, 1, 0, &c, 1);
        return c == 4 ? 0 : 1;
      }" ${gradus_blas_links})
    # Like counts_in_64_bits() in engine/gemm/library.cpp. It returns 0 for a library with 64-bit
    # integers (ILP64).
    string(MAKE_C_IDENTIFIER "GRADUS_IS_ILP64_${ARGN}" gradus_blas_is_ilp64)
    if(${gradus_blas_links} AND NOT CMAKE_CROSSCOMPILING)
      check_cxx_source_runs("#if defined(__x86_64__) || defined(__aarch64__)
        extern \"C\" double cblas_ddot(long long, const double*, long long, const double*, long long);
        int main() {
          const double one = 1;
          return cblas_ddot(1 - (1LL << 62), &one, 1, &one, 1) == 0 ? 0 : 1;
        }
        #else
        int main() { return 1; }
        #endif" ${gradus_blas_is_ilp64})
    endif()
    if(${gradus_blas_is_ilp64})
      message(STATUS "Gradus: not using ${ARGN}, because its integers have 64 bits (ILP64)")
    elseif(${gradus_blas_links})
      set(GRADUS_BLAS_NAME "${name}")
      set(GRADUS_BLAS_LIBRARIES ${ARGN})
    endif()
    unset(CMAKE_REQUIRED_LIBRARIES)
    unset(CMAKE_REQUIRED_QUIET)
  endif()
endmacro()

# gradus_try_vendor(VENDOR): tries FindBLAS, without and with libcblas in front (Netlib, ATLAS).
macro(gradus_try_vendor vendor)
  if(NOT GRADUS_BLAS_LIBRARIES)
    set(BLA_VENDOR ${vendor})
    set(BLA_SIZEOF_INTEGER 4)
    unset(BLAS_FOUND)
    find_package(BLAS QUIET)
    if(BLAS_FOUND)
      gradus_try_blas(${vendor} ${BLAS_LIBRARIES} ${BLAS_LINKER_FLAGS})
      gradus_try_blas(${vendor} cblas ${BLAS_LIBRARIES} ${BLAS_LINKER_FLAGS})
    endif()
    unset(BLA_VENDOR)
    unset(BLA_SIZEOF_INTEGER)
  endif()
endmacro()

unset(GRADUS_BLAS_LIBRARIES)
if(gradus_blas_wanted MATCHES "^(auto|OpenBLAS)$")
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(GRADUS_PC_OPENBLAS QUIET openblas)
  endif()
  # Prefers the system's path, which the system's alternatives manage.
  find_library(GRADUS_OPENBLAS_LIBRARY NAMES openblas PATHS ${GRADUS_PC_OPENBLAS_LIBRARY_DIRS}
    /opt/homebrew/opt/openblas/lib /usr/local/opt/openblas/lib)
  mark_as_advanced(GRADUS_OPENBLAS_LIBRARY)
  gradus_try_blas(OpenBLAS ${GRADUS_OPENBLAS_LIBRARY})
  gradus_try_vendor(OpenBLAS)
endif()
if(gradus_blas_wanted STREQUAL "auto")
  gradus_try_vendor(All)
elseif(NOT gradus_blas_wanted STREQUAL "OpenBLAS")
  gradus_try_vendor(${gradus_blas_wanted})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(GradusBlas
  REQUIRED_VARS GRADUS_BLAS_LIBRARIES
  REASON_FAILURE_MESSAGE "found no library with cblas_sgemm and 32-bit integers (LP64) for \
GRADUS_BLAS=${gradus_blas_wanted}. Install libopenblas-dev, or link no BLAS with -DGRADUS_BLAS=builtin.")
if(GradusBlas_FOUND AND NOT TARGET gradus::blas)
  add_library(gradus::blas INTERFACE IMPORTED)
  set_target_properties(gradus::blas PROPERTIES INTERFACE_LINK_LIBRARIES "${GRADUS_BLAS_LIBRARIES}")
endif()
