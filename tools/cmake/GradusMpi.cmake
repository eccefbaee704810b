# gradus::mpi, for multi-process runs (train/distributed/mpi/), if MPI is installed.
if(GRADUS_MPI AND NOT CMAKE_CROSSCOMPILING)
  set(MPI_CXX_SKIP_MPICXX ON)  # only the C interface
  find_package(MPI QUIET COMPONENTS CXX)
endif()
if(NOT MPI_CXX_FOUND)
  message(STATUS "Gradus: gradus::mpi is not built, because MPI (libopenmpi-dev) is missing. Programs train in one process")
  return()
endif()
file(GLOB gradus_mpi_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/train/distributed/mpi/*.cpp"
  "${PROJECT_SOURCE_DIR}/train/distributed/faults/side_channel.cpp")
add_library(gradus_mpi STATIC ${gradus_mpi_sources})
gradus_library(gradus_mpi mpi PUBLIC)
gradus_own_flags(gradus_mpi)
target_link_libraries(gradus_mpi PRIVATE MPI::MPI_CXX INTERFACE
  "$<BUILD_INTERFACE:gradus_without_check>" "$<INSTALL_INTERFACE:gradus::gradus>")
set_property(TARGET gradus_mpi PROPERTY POSITION_INDEPENDENT_CODE ON)
