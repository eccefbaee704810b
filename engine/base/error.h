// Errors that teach: what went wrong, where, both values, and how to mend it.
#pragma once

#include <atomic>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>

namespace gradus {

/// Every exception that Gradus throws. The message ends with the path of the layer in which it
/// happened, where there is one: "matmul: [2, 3] x [4, 5]: … (in encoder.blocks.0.attention)".
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what);
};

// clang-format off
class ShapeError : public Error { using Error::Error; };   // sizes, ranks, axes that do not fit
class DtypeError : public Error { using Error::Error; };   // f32 with f64, floats as indices …
class IndexError : public Error { using Error::Error; };   // an index or token id out of range
class ValueError : public Error { using Error::Error; };   // any other argument out of range
class GraphError : public Error { using Error::Error; };   // backward twice, no path, changed data
class MemoryError : public Error { using Error::Error; };  // the limit, or the machine, has no more
class FileError : public Error { using Error::Error; };    // file missing, malformed, not writable
// clang-format on

/// Set by the engine: names the layer that is running, or returns "".
extern std::atomic<std::string (*)()> error_context;
/// Set by a trace: is told of each message, before the exception is thrown. Null: is not.
extern std::atomic<void (*)(const std::string& what)> on_error;

/// The parts of a message, written one after the other.
template <class... Parts>
std::string str_cat(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return out.str();
}

template <class E, class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw E(str_cat(parts...));
}

/// require<ShapeError>(a == b, "add: ", a, " and ", b, " differ"). The message is built on failure.
template <class E = ValueError, class... Parts>
void require(bool holds, const Parts&... parts) {
  if (!holds) [[unlikely]]
    fail<E>(parts...);
}

}  // namespace gradus
