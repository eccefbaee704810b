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

void (*error_heard)(const std::string&) = nullptr;

Error::Error(const std::string& what) : std::runtime_error(with_context(what)) {
  if (error_heard) error_heard(this->what());
}

}  // namespace gradus
