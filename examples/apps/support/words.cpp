#include "words.h"

#include <cmath>
#include <iomanip>

#include "gradus/engine/base/error.h"

namespace gradus::examples {
namespace {

std::string short_number(double value) {
  return str_cat(std::fixed, std::setprecision(value < 9.95 ? 1 : 0), value);
}

}  // namespace

std::string byte_size(std::int64_t bytes) {
  const double size = static_cast<double>(bytes);
  if (bytes < 1000) return str_cat(bytes, " bytes");
  if (size < 999.5e3) return short_number(size / 1e3) + " kB";
  if (size < 999.5e6) return short_number(size / 1e6) + " MB";
  return short_number(size / 1e9) + " GB";
}

std::string duration(double seconds) {
  if (seconds < 99.5)
    return str_cat(std::llround(std::max(1.0, seconds)), seconds < 1.5 ? " second" : " seconds");
  if (seconds < 99.5 * 60) return short_number(seconds / 60) + " minutes";
  return short_number(seconds / 3600) + " hours";
}

}  // namespace gradus::examples
