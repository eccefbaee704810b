# Installs the checker alone to a place of its own, builds this folder's project for one framework
# and looks at what its user sees.
#   cmake -DFRAMEWORK=plain -DTREE=<source> -DWORK=<folder> -DCXX=g++ -DGENERATOR=Ninja -P run.cmake
function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(result)
    message(FATAL_ERROR "${what} failed:\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

set(flags -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Debug
  -DCMAKE_CXX_FLAGS_DEBUG=-O0)
set(ENV{CMAKE_PREFIX_PATH} "${WORK}/prefix:${FRAMEWORK_PREFIX}")
run("configuring the checker" ${CMAKE_COMMAND} -S ${TREE} -B ${WORK}/gradus ${flags}
  -DGRADUS_CHECK_ONLY=ON -DCMAKE_INSTALL_PREFIX=${WORK}/prefix)
run("installing the checker" ${CMAKE_COMMAND} --install ${WORK}/gradus)
run("configuring the project" ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/${FRAMEWORK}
  ${flags} -DFRAMEWORK=${FRAMEWORK})
string(REGEX MATCH "SKIPPED[^\n]*" skipped "${out}")
if(skipped)
  message("${skipped}")
  return()
endif()
run("building the project" ${CMAKE_COMMAND} --build ${WORK}/${FRAMEWORK})
execute_process(COMMAND ${WORK}/${FRAMEWORK}/app RESULT_VARIABLE result OUTPUT_VARIABLE out
  ERROR_VARIABLE out)
if(NOT result EQUAL 1)
  message(FATAL_ERROR "one of two checks should fail, and the program say so by 1, not ${result}:\n${out}")
endif()
foreach(part IN ITEMS "dy alone" "GRADCHECK FAIL" "times what it should be" "reproduce: check::raw")
  string(FIND "${out}" "${part}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "its user does not see '${part}':\n${out}")
  endif()
endforeach()
string(ASCII 27 code)
string(FIND "${out}" "${code}" escape)
if(NOT escape EQUAL -1)
  message(FATAL_ERROR "escape sequences where there is no terminal:\n${out}")
endif()
message("${out}")
