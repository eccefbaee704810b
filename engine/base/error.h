// Exception types and `require`.
#pragma once

#include <atomic>
#include <locale>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>

namespace gradus {

/// Base class of all Gradus exceptions. The message ends with the running layer's path: "matmul:
/// [2, 3] x [4, 5]: … (in encoder.blocks.0.attention)".
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what);
};

// clang-format off
class ShapeError : public Error { using Error::Error; };   // sizes, ranks or axes do not match
class DtypeError : public Error { using Error::Error; };   // f32 mixed with f64, float indices …
class IndexError : public Error { using Error::Error; };   // an index or token id out of range
class ValueError : public Error { using Error::Error; };   // any other invalid argument
class GraphError : public Error { using Error::Error; };   // freed graph, no path, overwritten data
class MemoryError : public Error { using Error::Error; };  // over the limit or out of memory
class FileError : public Error { using Error::Error; };    // missing, malformed or not writable
// clang-format on

/// Returns the path of the running layer, or "". Set by the engine.
extern std::atomic<std::string (*)()> error_context;
/// Optional callback that receives the message before an exception is thrown.
extern std::atomic<void (*)(const std::string& what)> on_error;

/// Concatenates the parts of a text. Throws std::bad_alloc if memory runs out.
template <class... Parts>
std::string str_cat(const Parts&... parts) {
  std::ostringstream out;
  out.exceptions(std::ios::badbit);  // without it, the text would end early without an error
  out.imbue(std::locale::classic());
  try {
    (out << ... << parts);
  } catch (const std::ios::failure&) {  // from libc++ when memory runs out
    throw std::bad_alloc();
  }
  return out.str();
}

template <class E, class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw E(str_cat(parts...));
}

/// Throws E with the concatenated parts unless `holds`. Builds the message only on failure.
///   require<ShapeError>(a == b, "add: ", a, " and ", b, " differ");
template <class E = ValueError, class... Parts>
void require(bool holds, const Parts&... parts) {
  if (!holds) [[unlikely]]
    fail<E>(parts...);
}

}  // namespace gradus
