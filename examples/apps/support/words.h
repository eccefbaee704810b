#pragma once

#include <cstdint>
#include <string>

namespace gradus::examples {

std::string byte_size(std::int64_t bytes);  // 612 bytes, 9.8 MB; a MB is 10⁶ bytes
std::string duration(double seconds);       // 40 seconds, 1.6 minutes, 3.2 hours

}  // namespace gradus::examples
