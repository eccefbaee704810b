# Compiles each case of refused.cpp, which must cause one error with the text after "expect:".
#   cmake -DTREE=<source> -DWORK=<folder> -DCXX=g++ -P refused.cmake
file(MAKE_DIRECTORY "${WORK}")
file(CREATE_LINK "${TREE}" "${WORK}/gradus" SYMBOLIC)
set(source "${CMAKE_CURRENT_LIST_DIR}/refused.cpp")
set(compile ${CXX} -std=c++20 -I "${WORK}")
file(STRINGS "${source}" cases REGEX "CASE == ")
list(LENGTH cases count)

# Precompiles the common include. Compilers that cannot use the precompiled header read the
# original.
file(WRITE "${WORK}/included.h" "#include <gradus/check/raw/check.h>\n")
execute_process(COMMAND ${compile} -x c++-header "${WORK}/included.h" -o "${WORK}/included.h.gch"
  COMMAND_ERROR_IS_FATAL ANY)

foreach(case RANGE 0 ${count})  # case 0 must compile
  execute_process(COMMAND ${compile} -fsyntax-only -DCASE=${case} -include "${WORK}/included.h" "${source}"
    RESULT_VARIABLE failed ERROR_VARIABLE said)
  if(case EQUAL 0)
    if(failed)
      message(FATAL_ERROR "the valid calls do not compile:\n${said}")
    endif()
    continue()
  endif()
  math(EXPR at "${case} - 1")
  list(GET cases ${at} line)
  string(REGEX REPLACE ".*expect: " "" words "${line}")
  string(REGEX MATCHALL "error: " errors "${said}")
  list(LENGTH errors number)
  string(FIND "${said}" "${words}" found)
  if(NOT failed OR NOT number EQUAL 1 OR found EQUAL -1)
    message(FATAL_ERROR "case ${case}: ${number} errors, expected one that contains '${words}':\n${said}")
  endif()
endforeach()
