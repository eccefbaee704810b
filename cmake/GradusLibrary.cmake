# The library: what stands in the rooms, compiled. A new file is found without being listed.
set(gradus_rooms base engine ops nn models check trace io train)
set(gradus_globs ${gradus_rooms})
list(TRANSFORM gradus_globs APPEND "/*.cpp")
file(GLOB_RECURSE gradus_sources CONFIGURE_DEPENDS ${gradus_globs})

add_library(gradus ${gradus_sources})
gradus_library(gradus gradus PUBLIC)
gradus_own_flags(gradus)
set_target_properties(gradus PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_definitions(gradus PRIVATE GRADUS_VERSION="${PROJECT_VERSION}")
target_link_libraries(gradus PRIVATE ${CMAKE_DL_LIBS})

# Optimisation. Row kernels want every loop transformation, the rest stays small. Neither flag below
# changes a result: errno and floating-point traps, which Gradus never reads, are all that they give
# up. -ffast-math is never used: it would change results and lose NaN.
target_compile_options(gradus PRIVATE
  "$<$<NOT:$<CONFIG:Debug>>:-O2>" "$<$<BOOL:${GRADUS_NATIVE}>:-march=native>")
set(gradus_kernels ${gradus_sources})
list(FILTER gradus_kernels INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/(base|ops)/|/(train/optim(_rules)?|engine/accumulate)[.]cpp$")
set(gradus_kernel_flags -O3 -funroll-loops -fno-math-errno -fno-trapping-math)
set_property(SOURCE ${gradus_kernels} APPEND PROPERTY COMPILE_OPTIONS
  "$<$<NOT:$<CONFIG:Debug>>:${gradus_kernel_flags}>")

# One build of a kernel for each instruction set, where compiler, linker and loader can.
if(GRADUS_KERNEL_CLONES)
  include(cmake/GradusClones.cmake)
  if(GRADUS_CLONES_WORK)
    target_compile_definitions(gradus PRIVATE GRADUS_KERNEL_CLONES=1)
  endif()
endif()

# Products. `plain` is the triple loop in base/, for stepping, sanitizers and comparison.
list(APPEND CMAKE_MODULE_PATH "${PROJECT_SOURCE_DIR}/cmake")
if(GRADUS_BLAS STREQUAL "plain")
  target_compile_definitions(gradus PRIVATE GRADUS_BLAS_PLAIN)
else()
  find_package(GradusBlas REQUIRED)
  target_link_libraries(gradus PRIVATE gradus::blas)
endif()

# Threads. One file sees OpenMP; everything else links it.
if(GRADUS_OPENMP)
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(NOT OpenMP_CXX_FOUND)
    message(FATAL_ERROR "Gradus: ${CMAKE_CXX_COMPILER} has no OpenMP. With clang install libomp-dev, "
      "or build for one thread with -DGRADUS_OPENMP=OFF.")
  endif()
  separate_arguments(gradus_openmp_flags NATIVE_COMMAND "${OpenMP_CXX_FLAGS}")
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/base/parallel.cpp" APPEND PROPERTY
    COMPILE_OPTIONS ${gradus_openmp_flags})
  target_link_libraries(gradus PRIVATE "$<LINK_ONLY:OpenMP::OpenMP_CXX>")
endif()

# JSON, for files. Header-only and seen by io/ alone: whoever links Gradus does not need it.
find_package(nlohmann_json 3.9 QUIET)
if(NOT nlohmann_json_FOUND)
  message(FATAL_ERROR "Gradus: io/ needs nlohmann_json 3.9 or newer: "
    "apt-get install nlohmann-json3-dev, or -Dnlohmann_json_DIR=DIR.")
endif()
target_link_libraries(gradus PRIVATE "$<BUILD_INTERFACE:nlohmann_json::nlohmann_json>")
