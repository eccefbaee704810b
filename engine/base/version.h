// The version of Gradus. CMake and packaging/ read the values of this file, in this order.
#pragma once

#include <string>

#define GRADUS_VERSION_MAJOR 0
#define GRADUS_VERSION_MINOR 2
#define GRADUS_VERSION_PATCH 0
// N of libgradus.so.N. A release that requires programs to be recompiled raises it.
#define GRADUS_ABI 0
// The project's public address. There is none yet.
#define GRADUS_ADDRESS ""

namespace gradus {

/// The version of the headers, like "0.2.0".
inline std::string version() {
  return std::to_string(GRADUS_VERSION_MAJOR) + "." + std::to_string(GRADUS_VERSION_MINOR) + "." +
         std::to_string(GRADUS_VERSION_PATCH);
}

}  // namespace gradus
