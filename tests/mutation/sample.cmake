# A sample of what mutate.sh does, among the ordinary tests: the mutants of two operations are built
# here, and some of them run. The whole has a build of its own: CMakeLists.txt beside this file.
find_package(Python3 QUIET COMPONENTS Interpreter)
get_target_property(kind gradus TYPE)
if(NOT Python3_FOUND OR CMAKE_BUILD_TYPE STREQUAL "Debug" OR NOT kind STREQUAL "STATIC_LIBRARY")
  return()  # mutated sources stand in for those of the archive, which a shared library does not allow
endif()

set(mutation "${CMAKE_CURRENT_LIST_DIR}")
set(mutated "${CMAKE_CURRENT_BINARY_DIR}/mutation")
set(sample "${PROJECT_SOURCE_DIR}/tools/mutate/sample.py")
file(GLOB writers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/mutate/*.py")
add_custom_command(OUTPUT "${mutated}/tree/ops/softmax.cpp" "${mutated}/tree/ops/linear.cpp"
  COMMAND Python3::Interpreter "${sample}" write "${mutated}"
  COMMAND ${CMAKE_COMMAND} -E touch "${mutated}/tree/ops/softmax.cpp" "${mutated}/tree/ops/linear.cpp"
  DEPENDS ${writers} "${PROJECT_SOURCE_DIR}/ops/softmax.cpp" "${PROJECT_SOURCE_DIR}/ops/linear.cpp"
  COMMENT "Writing mutants of ops/softmax.cpp and ops/linear.cpp" VERBATIM)
add_executable(gradus_mutants "${mutated}/tree/ops/softmax.cpp" "${mutated}/tree/ops/linear.cpp"
  "${mutation}/main.cpp" "${mutation}/sample_cases.cpp" "${mutation}/test_cases.cpp"
  "${mutation}/mistake_cases.cpp" "${mutation}/guarded_memory.cpp"
  ops/test_softmax.cpp ops/test_matmul.cpp ops/test_loss_edges.cpp
  ops/test_numeric_edges.cpp)
gradus_own_flags(gradus_mutants)
target_compile_definitions(gradus_mutants PRIVATE GRADUS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
target_compile_options(gradus_mutants PRIVATE -O1 -w -Wno-narrowing)  # an error of clang, in T{1}
target_link_libraries(gradus_mutants PRIVATE gradus_samples gradus_mistakes gradus_tests_support)

add_test(NAME "mutation/a sample of mutants is noticed" COMMAND Python3::Interpreter "${sample}" run
  "${mutated}" "$<TARGET_FILE:gradus_mutants>")
add_test(NAME "mutation/its tools" COMMAND Python3::Interpreter
  "${PROJECT_SOURCE_DIR}/tools/mutate/test_mutate.py")
set_tests_properties("mutation/a sample of mutants is noticed" "mutation/its tools" PROPERTIES TIMEOUT 300)
