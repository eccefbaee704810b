# Chooses what libgradus.so exports, with a linker version script: the classes of the public namespaces,
# with their vtables and type information, and the functions. Everything else, like kernels, the
# structs of ops and instantiations of std, stays inside. tools/abi.py lists the exports.
#
# The patterns match mangled names, where a name has its length in front: _ZN6gradus6Tensor4gradEv is
# gradus::Tensor::grad(). E ends the name of a function, B begins its ABI tag, I template arguments.
if(NOT gradus_kind STREQUAL "SHARED_LIBRARY" OR APPLE OR NOT UNIX OR EMSCRIPTEN)
  return()
endif()
set(gradus_exports "")
foreach(name IN ITEMS 2nn 5optim 5train 5trace 2io 11distributed 6memory 11environment)
  string(APPEND gradus_exports "_ZN6gradus${name}*; _ZNK6gradus${name}*; _ZT?N6gradus${name}*; _ZTh*N6gradus${name}*;\n")
endforeach()
# Names in gradus itself: `?` for each letter, because the wildcard * would include nested namespaces.
# In check, names without template arguments.
foreach(length RANGE 1 40)
  math(EXPR rest "${length} - 1")
  string(REPEAT "?" ${rest} rest)
  set(class "6gradus${length}[A-Z]${rest}")
  string(APPEND gradus_exports
    "_ZN6gradus${length}[a-z]${rest}[EB]*; _ZN${class}[!I]*; _ZNK${class}[!I]*; _ZT?N${class}E; _ZTh*N${class}[!I]*;\n"
    "_ZN6gradus5check${length}?${rest}[!I]*; _ZNK6gradus5check${length}?${rest}[!I]*;\n")
endforeach()
string(APPEND gradus_exports "_ZT?N6gradus5check*;\n")
# Templates that the library instantiates.
string(APPEND gradus_exports "_ZN6gradus6tensorI*; _ZN6gradus6borrowI*; _ZN6gradus4DimsI*; _ZNK6gradus4DimsI*;\n")
# Operators, which have no length: pl for operator+, ls for operator<<.
string(APPEND gradus_exports "_ZN6gradus[a-z][a-zA-Z]E*;\n")
# What programs print about the machine.
string(APPEND gradus_exports "_ZN6gradus8platform15physical_memory*; _ZN6gradus8platform19peak_resident_bytes*;\n")
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/libgradus.map"
  CONTENT "GRADUS_${GRADUS_ABI} {\nglobal:\n@gradus_exports@local:\n*;\n};\n" @ONLY)
target_link_options(gradus PRIVATE "LINKER:--version-script=${PROJECT_BINARY_DIR}/libgradus.map")
set_property(TARGET gradus APPEND PROPERTY LINK_DEPENDS "${PROJECT_BINARY_DIR}/libgradus.map")
