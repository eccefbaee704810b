#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include "gradus/engine/base/error.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing {

/// RAII guard for a new, empty folder.
class Folder {
 public:
  Folder() {
    std::random_device random;
    do {
      path_ = std::filesystem::temp_directory_path() / ("gradus-test-" + std::to_string(random()));
    } while (!std::filesystem::create_directory(path_));
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

inline bool same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  return dispatch(a.dtype(), [&]<class T>() {
    const Tensor x = a.contiguous(), y = b.contiguous();
    const std::size_t bytes = static_cast<std::size_t>(x.numel()) * sizeof(T);
    return std::string_view(reinterpret_cast<const char*>(x.data<T>()), bytes) ==
           std::string_view(reinterpret_cast<const char*>(y.data<T>()), bytes);
  });
}

}  // namespace gradus::testing
