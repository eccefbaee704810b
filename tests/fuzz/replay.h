#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace gradus::fuzz {

using Target = int (*)(const std::uint8_t* data, std::size_t size);
extern const std::map<std::string, Target> kTargets;

}  // namespace gradus::fuzz
