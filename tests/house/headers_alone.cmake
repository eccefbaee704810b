# Compiles each header of a room alone, with every warning an error.
#   cmake -DROOM=ops -DSOURCE=<tree> -DINCLUDE=<build>/include -DCXX=g++ -DWORK=<folder> -P this
file(GLOB_RECURSE headers RELATIVE "${SOURCE}" "${SOURCE}/${ROOM}/*.h")
set(failed "")
foreach(header IN LISTS headers)
  file(WRITE "${WORK}/${ROOM}.cpp" "#include \"gradus/${header}\"\n#include \"gradus/${header}\"\n")
  execute_process(
    COMMAND "${CXX}" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Werror
      "-I${INCLUDE}" "${WORK}/${ROOM}.cpp"
    RESULT_VARIABLE result ERROR_VARIABLE message)
  if(result)
    list(APPEND failed "${header}")
    message("${message}")
  endif()
endforeach()
list(LENGTH headers count)
message("${count} headers in ${ROOM}")
if(failed)
  message(FATAL_ERROR "not to be included alone: ${failed}")
endif()
