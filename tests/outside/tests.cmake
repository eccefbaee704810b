# Tests the checker without the library, from installed headers: one project per test framework, and
# one per library with an adapter. If one is missing, its test is skipped with a message.
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  return()
endif()
set(outside "${CMAKE_CURRENT_SOURCE_DIR}/outside")
foreach(framework IN ITEMS plain quick c catch2 googletest doctest eigen ceres xtensor armadillo adolc)
  add_test(NAME "outside/${framework}" COMMAND ${CMAKE_COMMAND} -DFRAMEWORK=${framework}
    -DTREE=${PROJECT_SOURCE_DIR} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/outside/${framework}
    -DCXX=${CMAKE_CXX_COMPILER} -DGENERATOR=${CMAKE_GENERATOR}
    -DFRAMEWORK_PREFIX=${GRADUS_FRAMEWORK_PREFIX} -P "${outside}/run.cmake")
  set_tests_properties("outside/${framework}" PROPERTIES LABELS nightly TIMEOUT 300
    SKIP_REGULAR_EXPRESSION "SKIPPED")
endforeach()
add_test(NAME "outside/misuse does not compile and gives the reason" COMMAND ${CMAKE_COMMAND}
  -DTREE=${PROJECT_SOURCE_DIR} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/outside/refused
  -DCXX=${CMAKE_CXX_COMPILER} -P "${outside}/refused.cmake")
set_tests_properties("outside/misuse does not compile and gives the reason" PROPERTIES
  LABELS nightly TIMEOUT 300)
if(Python3_FOUND)
  add_test(NAME "outside/single header" COMMAND ${CMAKE_COMMAND} -DTREE=${PROJECT_SOURCE_DIR}
    -DWORK=${CMAKE_CURRENT_BINARY_DIR}/outside/single_header -DCXX=${CMAKE_CXX_COMPILER}
    -DPYTHON=${Python3_EXECUTABLE} -P "${outside}/single_header.cmake")
  set_tests_properties("outside/single header" PROPERTIES LABELS "nightly;ci" TIMEOUT 300)
  foreach(kind IN ITEMS header package pytest)
    add_test(NAME "outside/sample repository, ${kind}" COMMAND ${CMAKE_COMMAND} -DKIND=${kind}
      -DTREE=${PROJECT_SOURCE_DIR} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/outside/repository_${kind}
      -DCXX=${CMAKE_CXX_COMPILER} -DGENERATOR=${CMAKE_GENERATOR} -DPYTHON=${Python3_EXECUTABLE}
      -P "${outside}/repositories.cmake")
    set_tests_properties("outside/sample repository, ${kind}" PROPERTIES LABELS "nightly;ci" TIMEOUT 300
      SKIP_REGULAR_EXPRESSION "SKIPPED")
  endforeach()
  set(samples "${CMAKE_CURRENT_BINARY_DIR}/outside/repository_header/build/gradus_check")
  set_tests_properties("outside/sample repository, header" PROPERTIES FIXTURES_SETUP sarif_files)
  add_test(NAME "outside/SARIF files agree with the schema" COMMAND Python3::Interpreter "${outside}/sarif.py"
    "${samples}/square_gradient.sarif=square_test.cpp:7" "${samples}/tanh_gradient.sarif=")
  set_tests_properties("outside/SARIF files agree with the schema" PROPERTIES LABELS "nightly;ci"
    FIXTURES_REQUIRED sarif_files SKIP_REGULAR_EXPRESSION "NOT VALIDATED")
  add_test(NAME "outside/examples for CI are those of the sample repositories" COMMAND Python3::Interpreter
    "${outside}/documented.py" "${PROJECT_SOURCE_DIR}/docs/checking/ci.md" "${outside}/repository_cmake"
    "${outside}/repository_pytest")
  set_tests_properties("outside/examples for CI are those of the sample repositories" PROPERTIES
    LABELS "nightly;ci")
  # Uses the wheel that tests/check/python builds.
  set_tests_properties("outside/sample repository, pytest" PROPERTIES FIXTURES_REQUIRED wheel
    ENVIRONMENT "PYTHONPATH=${CMAKE_CURRENT_BINARY_DIR}/check/python/unpacked")
endif()
# These tests run for every change.
set_tests_properties(outside/plain outside/c outside/catch2 PROPERTIES LABELS "nightly;ci")
