#pragma once

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "gradus/tests/io/files.h"

namespace gradus::testing {

using Random = std::mt19937_64;
using Names = std::vector<std::string>;

inline std::int64_t below(Random& random, std::int64_t n) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
}

inline std::string any_text(Random& random, std::size_t most) {
  static const Names characters = {
      " ",  "\"",   ",", "\\", "a", "B", "7",  ".", "\t",           "é",
      "日", "🙂", "/", "{",  "}", ":", "\'", "-", "\xEF\xBB\xBF", "\x01"};
  std::string out;
  for (std::size_t n = random() % (most + 1); n > 0; --n) out += characters[random() % 20];
  return out;
}

/// Returns random bits, including NaNs with payloads, infinities and subnormals.
inline Tensor any_bits(Random& random, const Shape& shape, Dtype dtype) {
  Tensor x = Tensor::empty(shape, dtype);
  dispatch(dtype, [&]<class T>() {
    T* at = x.mutable_data<T>();
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const std::uint64_t bits = random();
      if constexpr (std::is_same_v<T, bool>)
        at[i] = bits % 2 == 1;
      else
        std::memcpy(&at[i], &bits, sizeof(T));
    }
  });
  return x;
}

inline bool refuses(const std::function<void()>& load) {
  try {
    load();
  } catch (const FileError&) {
    return true;
  }
  return false;
}

}  // namespace gradus::testing
