// Files of the source tree embedded in the library by tools/cmake/GradusEmbedded.cmake.
#pragma once

#include <cstddef>

namespace gradus::trace {

struct EmbeddedFile {
  const char* path;  // "ops/softmax.cpp"
  const char* text;
};
extern const EmbeddedFile kViewer[];  // trace/viewer/page.html, then *.css and *.js by name
extern const std::size_t kViewerFiles;
extern const EmbeddedFile kOps[];  // ops/**/*.cpp
extern const std::size_t kOpsFiles;
extern const char* const kScriptSha256;  // of all *.js concatenated, hexadecimal
extern const char* const kStyleSha256;   // of all *.css

}  // namespace gradus::trace
