// Source files embedded by tools/cmake/GradusEmbedded.cmake.
#pragma once

#include <cstddef>

namespace gradus::trace {

/// A file of the source tree, stored as a string in the library.
struct EmbeddedFile {
  const char* path;  // "ops/softmax.cpp"
  const char* text;
};
extern const EmbeddedFile kViewer[];  // page.html, then *.css and *.js in order of name
extern const std::size_t kViewerFiles;
extern const EmbeddedFile kOps[];  // ops/**/*.cpp
extern const std::size_t kOpsFiles;
extern const char* const kScriptSha256;  // hash of all *.js, hexadecimal
extern const char* const kStyleSha256;   // hash of all *.css

}  // namespace gradus::trace
