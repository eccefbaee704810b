# Compiles each header of a component alone, with every warning an error; but for those that a source of
# the same name includes first of all, so that the build has shown it.
#   cmake -DCOMPONENT=ops -DSOURCE=<tree> -DINCLUDE=<build>/include -DCXX=g++ -DWORK=<folder> -P this
file(GLOB_RECURSE headers RELATIVE "${SOURCE}" "${SOURCE}/${COMPONENT}/*.h")
list(FILTER headers EXCLUDE REGEX "^check/adapters/")  # need other libraries: tests/outside builds them
set(failed "")
set(shown 0)
foreach(header IN LISTS headers)
  string(REGEX REPLACE "[.]h$" ".cpp" source "${SOURCE}/${header}")
  set(first "")
  if(EXISTS "${source}")
    file(STRINGS "${source}" first REGEX "^#include" LIMIT_COUNT 1)
  endif()
  if(first STREQUAL "#include \"gradus/${header}\"")
    math(EXPR shown "${shown} + 1")
    continue()
  endif()
  file(WRITE "${WORK}/${COMPONENT}.cpp" "#include \"gradus/${header}\"\n#include \"gradus/${header}\"\n")
  execute_process(
    COMMAND "${CXX}" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
      "-I${INCLUDE}" "${WORK}/${COMPONENT}.cpp"
    RESULT_VARIABLE result ERROR_VARIABLE message)
  if(result)
    list(APPEND failed "${header}")
    message("${message}")
  endif()
endforeach()
list(LENGTH headers count)
message("${count} headers in ${COMPONENT}, ${shown} of them shown by the build")
if(failed)
  message(FATAL_ERROR "not to be included alone: ${failed}")
endif()
