# Adds gradient checks to CTest. find_package(gradus) includes this file. Without the package, copy
# it next to gradus_check.hpp and include() it.
#
#   gradus_check_test(NAME softmax SOURCES softmax_test.cpp LIBRARIES my_library)
#
# builds a program and runs it as a test. It may include gradus_check.hpp if that is next to this
# file, or <gradus/check/raw/check.h> after find_package(gradus). If its main() returns
# gradus::check::report_all({…}), the test writes gradus_check/NAME.sarif and .xml (JUnit) in the
# project's build folder, and annotations on GitHub.
function(gradus_check_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LIBRARIES")
  if(NOT arg_NAME OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gradus_check_test: unknown or missing arguments (${ARGN}). "
      "Call it with NAME name SOURCES file… [LIBRARIES target…].")
  endif()
  find_package(Threads REQUIRED)  # for checks with .parallel()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_compile_features(${arg_NAME} PRIVATE cxx_std_20)
  target_include_directories(${arg_NAME} SYSTEM PRIVATE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBRARIES} Threads::Threads)
  foreach(checker IN ITEMS gradus::check_quick gradus::check_raw)
    if(TARGET ${checker})
      target_link_libraries(${arg_NAME} PRIVATE ${checker})
      break()
    endif()
  endforeach()
  set(results "${PROJECT_BINARY_DIR}/gradus_check")
  file(MAKE_DIRECTORY "${results}")
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME})
  set_tests_properties(${arg_NAME} PROPERTIES ENVIRONMENT
    "GRADUS_CHECK_SARIF=${results}/${arg_NAME}.sarif;GRADUS_CHECK_JUNIT=${results}/${arg_NAME}.xml")
endfunction()
