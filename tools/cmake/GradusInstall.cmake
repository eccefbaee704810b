# Installs headers, the library, and files for find_package and pkg-config. All are relocatable.
include(CMakePackageConfigHelpers)

set(gradus_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/gradus")
set(gradus_installed gradus_check_raw)
foreach(part IN ITEMS gradus_check_c gradus_check_quick)
  if(TARGET ${part})
    list(APPEND gradus_installed ${part})
  endif()
endforeach()
set(gradus_header_dirs check/raw check/c check/adapters)
if(NOT GRADUS_CHECK_ONLY)
  list(APPEND gradus_installed gradus gradus_trace_on_request)
  set(gradus_header_dirs ${gradus_components})
endif()

install(TARGETS ${gradus_installed} EXPORT gradusTargets OBJECTS DESTINATION "${CMAKE_INSTALL_LIBDIR}/gradus")
install(EXPORT gradusTargets NAMESPACE gradus:: DESTINATION "${gradus_package_dir}")
if(TARGET gradus_mpi)  # a component: find_package(gradus COMPONENTS mpi)
  install(TARGETS gradus_mpi EXPORT gradusMpiTargets)
  install(EXPORT gradusMpiTargets NAMESPACE gradus:: DESTINATION "${gradus_package_dir}")
endif()
foreach(program IN ITEMS gpt gradus-trace)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME OPTIONAL)
    set_property(TARGET ${program} PROPERTY INSTALL_RPATH "\$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  endif()
endforeach()
foreach(dir IN LISTS gradus_header_dirs)
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/${dir}")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${dir}/"
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/gradus/${dir}" FILES_MATCHING PATTERN "*.h"
      REGEX "/ops/kernels|/ops/attention/(problem|row_kernels|tiling)[.]h$" EXCLUDE  # internal headers
      REGEX "/check/(action|cmake|python)$|/trace/viewer$" EXCLUDE)  # no headers
  endif()
endforeach()

# Programs that use a static library also link its dependencies.
set(gradus_is_static OFF)
if(TARGET gradus)
  get_target_property(gradus_kind gradus TYPE)
  if(gradus_kind STREQUAL "STATIC_LIBRARY")
    set(gradus_is_static ON)
  endif()
endif()
configure_package_config_file(tools/cmake/gradusConfig.cmake.in gradusConfig.cmake
  INSTALL_DESTINATION "${gradus_package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(gradusConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/gradusConfig.cmake"
  "${PROJECT_BINARY_DIR}/gradusConfigVersion.cmake" tools/cmake/FindGradusBlas.cmake
  check/cmake/GradusCheck.cmake
  DESTINATION "${gradus_package_dir}")

if(TARGET gradus)
  install(FILES gradus.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/gradus")

  # gradus.pc computes its prefix from its location.
  set(gradus_pc_private "")
  foreach(library IN LISTS GRADUS_BLAS_LIBRARIES OpenMP_CXX_LIBRARIES CMAKE_DL_LIBS)
    if(NOT library MATCHES "^[-/]")
      set(library "-l${library}")
    endif()
    string(APPEND gradus_pc_private " ${library}")
  endforeach()
  set(gradus_pc_libs "")
  if(gradus_is_static)  # `pkg-config --libs` must list everything
    set(gradus_pc_libs "${gradus_pc_private}")
    set(gradus_pc_private "")
  endif()
  file(RELATIVE_PATH gradus_pc_to_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
  string(REGEX REPLACE "/$" "" gradus_pc_to_prefix "${gradus_pc_to_prefix}")
  configure_file(tools/cmake/gradus.pc.in gradus.pc @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/gradus.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()
