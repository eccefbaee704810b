# cmake -DOUT=FILE.cpp -DROOT=DIR -P GradusDerivations.cmake: embeds docs/derivations as C++
# strings.
file(GLOB files "${ROOT}/docs/derivations/*.md")
list(SORT files)
list(LENGTH files count)
file(WRITE "${OUT}.new" "#include \"gradus/trace/derive.h\"\nnamespace gradus::trace {\nconst Derivation kDerivations[] = {\n")
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME_WE)
  file(READ "${file}" text)
  file(APPEND "${OUT}.new" "{\"${name}\", R\"~~~~(${text})~~~~\"},\n")
endforeach()
file(APPEND "${OUT}.new" "};\nconst std::size_t kDerivationCount = ${count};\n}  // namespace gradus::trace\n")
file(RENAME "${OUT}.new" "${OUT}")
