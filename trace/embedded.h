// Files of the tree that are part of the library: tools/cmake/GradusEmbedded.cmake writes them out.
#pragma once

#include <cstddef>

namespace gradus::trace {

struct EmbeddedFile {
  const char* path;  // "ops/softmax.cpp"
  const char* text;
};
extern const EmbeddedFile
    kViewer[];  // trace/viewer/page.html, then *.css and *.js in order of their names
extern const std::size_t kViewerFiles;
extern const EmbeddedFile kOps[];  // ops/**/*.cpp
extern const std::size_t kOpsFiles;
extern const char* const kScriptSha256;  // of all *.js, one after the other, hexadecimal
extern const char* const kStyleSha256;   // of all *.css

}  // namespace gradus::trace
