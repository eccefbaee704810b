# What every target of ours shares: how headers are found, which warnings are on.

# Includes are spelled "gradus/engine/tensor.h" in the tree, in the build and when installed: the
# build's include/gradus is a link to the source, so an editor opens the file that git knows.
set(GRADUS_INCLUDE_DIR "${PROJECT_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${GRADUS_INCLUDE_DIR}")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}" "${GRADUS_INCLUDE_DIR}/gradus"
  RESULT gradus_link_result SYMBOLIC)
if(NOT gradus_link_result STREQUAL "0")
  message(FATAL_ERROR "Gradus: cannot make the link ${GRADUS_INCLUDE_DIR}/gradus to "
    "${PROJECT_SOURCE_DIR}: ${gradus_link_result}. Build on a file system that has symbolic links.")
endif()

# gradus_library(TARGET NAME PUBLIC|INTERFACE): reached as gradus::NAME here and after installation.
function(gradus_library target name scope)
  add_library(gradus::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope}
    "$<BUILD_INTERFACE:${GRADUS_INCLUDE_DIR}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
endfunction()

# What we compile ourselves, never what users compile: our warnings, and source paths as people see
# them (debuggers and messages would otherwise show headers through the link).
function(gradus_own_flags target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE
    "-ffile-prefix-map=${GRADUS_INCLUDE_DIR}/gradus=${PROJECT_SOURCE_DIR}")
  if(PROJECT_IS_TOP_LEVEL)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # GCC 12 sees overlapping copies in `"text" + std::string` that cannot be (its bug 105329).
      target_compile_options(${target} PRIVATE -Wno-restrict)
    endif()
  endif()
endfunction()

# gradus_precompile(TARGET): the standard library's headers are read once. Its sources must all have
# the same -O: GCC takes the header's. Not where compiling is cached, for caches do not see into it;
# not in Debug, so that some build notices a file that includes too little.
function(gradus_precompile target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_COMPILER_LAUNCHER
      AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_precompile_headers(${target} PRIVATE
      <algorithm> <cmath> <functional> <map> <memory> <sstream> <string> <vector>)
  endif()
endfunction()
