#include "gradus/engine/base/error.h"

namespace gradus {
namespace {

std::string with_context(const std::string& what) {
  const auto context = error_context.load();
  const std::string path = context ? context() : std::string();
  return path.empty() ? what : what + " (in " + path + ")";
}

}  // namespace

constinit std::atomic<std::string (*)()> error_context = nullptr;

constinit std::atomic<void (*)(const std::string&)> on_error = nullptr;

Error::Error(const std::string& what) : std::runtime_error(with_context(what)) {
  if (const auto heard = on_error.load()) heard(this->what());
}

}  // namespace gradus
