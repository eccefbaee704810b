# Common settings of all targets: include paths and warnings.

# Includes are "gradus/engine/tensor.h" everywhere. The build's include/gradus links to the source
# tree, so editors open the files in git.
set(GRADUS_INCLUDE_DIR "${PROJECT_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${GRADUS_INCLUDE_DIR}")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}" "${GRADUS_INCLUDE_DIR}/gradus"
  RESULT gradus_link_result SYMBOLIC)
if(NOT gradus_link_result STREQUAL "0")
  message(FATAL_ERROR "Gradus: cannot create the link ${GRADUS_INCLUDE_DIR}/gradus to "
    "${PROJECT_SOURCE_DIR} (${gradus_link_result}). Build on a file system with symbolic links.")
endif()

# gradus_library(TARGET NAME PUBLIC|INTERFACE): defines gradus::NAME, also after installation.
function(gradus_library target name scope)
  add_library(gradus::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope}
    "$<BUILD_INTERFACE:${GRADUS_INCLUDE_DIR}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
endfunction()

# Flags for our own sources: warnings, real source paths instead of the link's, and no a * b + c as one
# fused operation unless the source says so: bits would depend on the processor.
function(gradus_own_flags target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  set(recorded "${PROJECT_SOURCE_DIR}")
  if(GRADUS_SOURCE_PATH)
    set(recorded "${GRADUS_SOURCE_PATH}")
    target_compile_options(${target} PRIVATE "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=${recorded}"
      "-ffile-prefix-map=${PROJECT_BINARY_DIR}=${recorded}/build")
  endif()
  target_compile_options(${target} PRIVATE -ffp-contract=off
    "-ffile-prefix-map=${GRADUS_INCLUDE_DIR}/gradus=${recorded}")
  if(PROJECT_IS_TOP_LEVEL)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion)
    if(CMAKE_SIZEOF_VOID_P EQUAL 4)
      # Numbers of elements are int64_t, but a tensor in the memory of a 32-bit machine has fewer
      # than 2³² elements. GCC has no narrower option.
      target_compile_options(${target} PRIVATE
        $<IF:$<CXX_COMPILER_ID:GNU>,-Wno-conversion,-Wno-shorten-64-to-32>)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 17)
      # GCC 12's std::stable_sort uses a deprecated function.
      target_compile_options(${target} PRIVATE -Wno-deprecated-declarations)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # GCC 12 warns about impossible overlaps in `"text" + std::string` (bug 105329).
      target_compile_options(${target} PRIVATE -Wno-restrict)
      # With AddressSanitizer, GCC 12 warns about an uninitialized std::regex (bug 105562).
      if(CMAKE_CXX_FLAGS_DEBUG MATCHES "fsanitize=address")
        target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
      endif()
    endif()
  endif()
endfunction()

# gradus_system_header(TARGET FOLDER FOUND): finds a header-only library for emscripten, whose toolchain ignores
# the system's headers. /usr/include would hide its own, so this links to the one folder.
function(gradus_system_header target folder found)
  find_path(gradus_${folder}_include ${folder} HINTS /usr/local/include /usr/include NO_CMAKE_FIND_ROOT_PATH)
  if(gradus_${folder}_include)
    file(CREATE_LINK "${gradus_${folder}_include}/${folder}" "${PROJECT_BINARY_DIR}/include/${folder}" SYMBOLIC)
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${PROJECT_BINARY_DIR}/include")
    set(${found} TRUE PARENT_SCOPE)
  endif()
endfunction()

# Optimized GCC builds use precompiled headers, and unity builds of up to eight test and program
# sources, which halves the time. -DCMAKE_UNITY_BUILD=OFF rebuilds faster after a change. Debug and
# clang builds use neither, to detect missing includes. ccache needs two settings for precompiled
# headers.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(GRADUS_PRECOMPILE ON)
  if(NOT DEFINED CMAKE_UNITY_BUILD)
    set(CMAKE_UNITY_BUILD ON)
  endif()
  if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache$")
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CMAKE_CXX_COMPILER_LAUNCHER})
    add_compile_options(-fpch-preprocess)
  endif()
endif()

# gradus_precompile(TARGET HEADERS…): precompiles these headers and the standard library for all
# sources of TARGET, which must use the same -O and -g.
function(gradus_precompile target)
  if(GRADUS_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <cmath> <functional> <map> <memory> <sstream> <string> <vector> ${ARGN})
  endif()
endfunction()

# gradus_precompile_as(TARGET OTHER): reuses OTHER's precompiled headers. Requires the same flags.
function(gradus_precompile_as target other)
  if(GRADUS_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()
