// A module's weights as a file.
#pragma once

#include <string>

#include "gradus/nn/module.h"

namespace gradus::io {

/// Writes parameters and buffers by name as safetensors, whole or not at all. FileError.
void save(const std::string& path, const nn::Module& module);

/// Reads them into a module of the same names and shapes, in place, converted to its dtype.
/// FileError; one ShapeError lists every missing, unexpected or misshapen name.
void load(const std::string& path, nn::Module& module);

}  // namespace gradus::io
