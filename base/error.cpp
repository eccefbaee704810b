// The one constructor that every Gradus exception goes through: it adds where.
#include "gradus/base/error.h"

namespace gradus {
namespace {

std::string with_context(const std::string& what) {
  const std::string path = error_context != nullptr ? error_context() : std::string();
  return path.empty() ? what : what + " (in " + path + ")";
}

}  // namespace

std::string (*error_context)() = nullptr;

Error::Error(const std::string& what) : std::runtime_error(with_context(what)) {}

}  // namespace gradus
