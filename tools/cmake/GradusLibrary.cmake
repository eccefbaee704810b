# The library: all sources of the components.
set(gradus_components engine ops nn check trace io train)
set(gradus_globs ${gradus_components})
list(TRANSFORM gradus_globs APPEND "/*.cpp")
file(GLOB_RECURSE gradus_sources CONFIGURE_DEPENDS ${gradus_globs})
list(FILTER gradus_sources EXCLUDE REGEX "/train/distributed/(mpi/|faults/side_channel)")  # GradusMpi.cmake
list(FILTER gradus_sources EXCLUDE REGEX "/trace/on_request[.]cpp$")  # gradus::trace_on_request, below

# The library has three parts. Code that runs per element or op is optimized for speed. Code that
# runs per layer or step is optimized for size, which halves compile time. The third part is the
# checker, which gpt does not need.
set(gradus_fast_sources ${gradus_sources})
list(FILTER gradus_fast_sources INCLUDE REGEX
  "^${PROJECT_SOURCE_DIR}/((engine|ops)/|train/optim/(ema|muon|optim_rules|stages)[.]cpp$)")
set(gradus_check_sources ${gradus_sources})
list(FILTER gradus_check_sources INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/check/")
list(REMOVE_ITEM gradus_sources ${gradus_fast_sources} ${gradus_check_sources})
list(FILTER gradus_check_sources EXCLUDE REGEX "/check/(c/.*|raw/compiled)[.]cpp$")
set(gradus_embedded "${PROJECT_BINARY_DIR}/embedded.cpp")
file(GLOB gradus_viewer CONFIGURE_DEPENDS trace/viewer/page.html trace/viewer/*.css trace/viewer/*.js)
set(gradus_op_sources ${gradus_fast_sources})
list(FILTER gradus_op_sources INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/ops/")
add_custom_command(OUTPUT "${gradus_embedded}"
  COMMAND ${CMAKE_COMMAND} "-DOUT=${gradus_embedded}" "-DROOT=${PROJECT_SOURCE_DIR}"
    -P "${PROJECT_SOURCE_DIR}/tools/cmake/GradusEmbedded.cmake"
  DEPENDS ${gradus_viewer} ${gradus_op_sources} tools/cmake/GradusEmbedded.cmake VERBATIM)
list(APPEND gradus_sources "${gradus_embedded}")
file(GLOB gradus_derivations CONFIGURE_DEPENDS docs/derivations/*.md)
add_custom_command(OUTPUT "${PROJECT_BINARY_DIR}/derivations.cpp"
  COMMAND ${CMAKE_COMMAND} "-DOUT=${PROJECT_BINARY_DIR}/derivations.cpp" "-DROOT=${PROJECT_SOURCE_DIR}"
    -P "${PROJECT_SOURCE_DIR}/tools/cmake/GradusDerivations.cmake"
  DEPENDS ${gradus_derivations} tools/cmake/GradusDerivations.cmake VERBATIM)
list(APPEND gradus_sources "${PROJECT_BINARY_DIR}/derivations.cpp")
add_library(gradus_fast OBJECT ${gradus_fast_sources})
add_library(gradus_small OBJECT ${gradus_sources})
add_library(gradus ${gradus_check_sources}
  $<TARGET_OBJECTS:gradus_fast> $<TARGET_OBJECTS:gradus_small>)
gradus_library(gradus gradus PUBLIC)
# One object per source, because programs link only the objects of a static library that they use.
set_target_properties(gradus_fast gradus_small gradus PROPERTIES UNITY_BUILD OFF)
set_target_properties(gradus PROPERTIES VERSION ${GRADUS_ABI}.${PROJECT_VERSION_MINOR}.${PROJECT_VERSION_PATCH} SOVERSION ${GRADUS_ABI})
get_target_property(gradus_kind gradus TYPE)
include(tools/cmake/GradusExports.cmake)

# These flags do not change results. They disable errno and floating-point traps, which Gradus does
# not use. -ffast-math would break NaN.
target_compile_options(gradus_fast PRIVATE
  "$<$<NOT:$<CONFIG:Debug>>:-O2;-ftree-vectorize;-fno-math-errno;-fno-trapping-math>"
  "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<CONFIG:Debug>>>:-fvect-cost-model=dynamic>")
# Unrolling makes these row loops, which dominate training steps, a few percent faster. For all
# kernels, it would add a tenth to compile time.
set_property(SOURCE ${PROJECT_SOURCE_DIR}/engine/base/random.cpp ${PROJECT_SOURCE_DIR}/engine/broadcast.cpp
  ${PROJECT_SOURCE_DIR}/ops/attention/kernel.cpp
  ${PROJECT_SOURCE_DIR}/ops/cross_entropy.cpp ${PROJECT_SOURCE_DIR}/ops/dropout.cpp
  ${PROJECT_SOURCE_DIR}/ops/activation.cpp ${PROJECT_SOURCE_DIR}/ops/normalization.cpp
  ${PROJECT_SOURCE_DIR}/ops/softmax.cpp
  APPEND PROPERTY COMPILE_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:-funroll-loops>")
# Without vectorization, these chains of dependent operations are faster.
set_property(SOURCE ${PROJECT_SOURCE_DIR}/engine/base/math64.cpp APPEND PROPERTY
  COMPILE_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:-funroll-loops;-fno-tree-vectorize>")
set_property(SOURCE ${PROJECT_SOURCE_DIR}/engine/base/math64.cpp PROPERTY SKIP_PRECOMPILE_HEADERS ON)
# -g1 provides the lines of layers in traces.
target_compile_options(gradus_small PRIVATE "$<$<NOT:$<CONFIG:Debug>>:-Os;-g1>")
# Traces read every value of a step, and portable runs hash every weight, so speed matters.
set(gradus_reads_all ${PROJECT_SOURCE_DIR}/trace/values.cpp ${PROJECT_SOURCE_DIR}/train/verify.cpp)
set_property(SOURCE ${gradus_reads_all} APPEND PROPERTY COMPILE_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:-O2>")
set_property(SOURCE ${gradus_reads_all} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
# The checker has small functions that must be inlined. With -Os, checks take up to twice as long.
# A browser downloads them, so there size comes first.
target_compile_options(gradus PRIVATE "$<$<NOT:$<CONFIG:Debug>>:$<IF:$<BOOL:${EMSCRIPTEN}>,-Os,-O2>>")
foreach(part IN ITEMS gradus_fast gradus_small gradus)
  gradus_own_flags(${part})
  target_compile_features(${part} PRIVATE cxx_std_20)
  target_include_directories(${part} PRIVATE "${GRADUS_INCLUDE_DIR}")
  target_compile_options(${part} PRIVATE "$<$<BOOL:${GRADUS_NATIVE}>:-march=native>")
  if(gradus_kind STREQUAL "SHARED_LIBRARY")
    set_target_properties(${part} PROPERTIES POSITION_INDEPENDENT_CODE ON VISIBILITY_INLINES_HIDDEN ON)
  endif()
endforeach()
gradus_precompile(gradus_fast "${PROJECT_SOURCE_DIR}/engine/tensor.h")
foreach(part IN ITEMS gradus_small gradus)
  gradus_precompile(${part} "${PROJECT_SOURCE_DIR}/nn/module.h" "${PROJECT_SOURCE_DIR}/ops/ops.h")
endforeach()

# Kernels for several instruction sets, selected at run time (engine/base/simd.h).
if(GRADUS_KERNEL_CLONES)
  target_compile_definitions(gradus_fast PRIVATE GRADUS_KERNEL_CLONES=1)
endif()

set(gradus_stands_on ${CMAKE_DL_LIBS})

# engine/gemm/backend.cpp chooses between the built-in matmul kernels and a BLAS library. `builtin`
# links no library. `plain` is a triple loop for stepping through in a debugger.
list(APPEND CMAKE_MODULE_PATH "${PROJECT_SOURCE_DIR}/tools/cmake")
if(GRADUS_BLAS STREQUAL "plain")
  target_compile_definitions(gradus_fast PRIVATE GRADUS_BLAS_PLAIN)
elseif(NOT GRADUS_BLAS STREQUAL "builtin")
  find_package(GradusBlas REQUIRED)
  target_compile_definitions(gradus_fast PRIVATE GRADUS_BLAS_LIBRARY)
  list(APPEND gradus_stands_on gradus::blas)
endif()

# Only engine/base/parallel.cpp is compiled with OpenMP, but the entire library links it.
if(GRADUS_OPENMP)
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(NOT OpenMP_CXX_FOUND)
    message(FATAL_ERROR "Gradus: ${CMAKE_CXX_COMPILER} has no OpenMP. For clang, install libomp-dev, "
      "or use one thread with -DGRADUS_OPENMP=OFF.")
  endif()
  separate_arguments(gradus_openmp_flags NATIVE_COMMAND "${OpenMP_CXX_FLAGS}")
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/engine/base/parallel.cpp" APPEND PROPERTY
    COMPILE_OPTIONS ${gradus_openmp_flags})
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/engine/base/parallel.cpp" PROPERTY
    SKIP_PRECOMPILE_HEADERS ON)  # the precompiled headers are compiled without OpenMP
  list(APPEND gradus_stands_on "$<LINK_ONLY:OpenMP::OpenMP_CXX>")
endif()

# nlohmann-json is header-only, and only io/ uses it, so projects that use Gradus do not need it.
if(EMSCRIPTEN AND NOT nlohmann_json_DIR)
  gradus_system_header(nlohmann_json::nlohmann_json nlohmann nlohmann_json_FOUND)
else()
  find_package(nlohmann_json 3.9 QUIET)
endif()
if(NOT nlohmann_json_FOUND)
  message(FATAL_ERROR "Gradus: io/ needs nlohmann_json 3.9 or newer. "
    "Install nlohmann-json3-dev, or pass -Dnlohmann_json_DIR=DIR.")
endif()
target_link_libraries(gradus_small PRIVATE nlohmann_json::nlohmann_json)

target_link_libraries(gradus PRIVATE ${gradus_stands_on})
if(gradus_kind STREQUAL "STATIC_LIBRARY")
  add_library(gradus_without_check STATIC EXCLUDE_FROM_ALL
    $<TARGET_OBJECTS:gradus_fast> $<TARGET_OBJECTS:gradus_small>)
  set_target_properties(gradus_without_check PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(gradus_without_check PRIVATE ${gradus_stands_on})
else()
  add_library(gradus_without_check ALIAS gradus)
endif()

# Compiled into programs that link this target. Runs before main() and reads GRADUS_TRACE.
add_library(gradus_trace_on_request OBJECT trace/on_request.cpp)
gradus_library(gradus_trace_on_request trace_on_request PUBLIC)
gradus_own_flags(gradus_trace_on_request)
