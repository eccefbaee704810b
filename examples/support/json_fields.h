// Fields of settings in JSON, taken as what they are.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>

#include "gradus/base/error.h"
#include "gradus/io/text.h"

namespace gradus::examples {

/// The fields of an object in `file`. The JSON library itself makes 2 of 2.5, and anything of
/// 1e300, where a whole number is asked for: here that is a FileError. All other faults are
/// exceptions of its own.
class JsonFields {
 public:
  JsonFields(const nlohmann::json& object, std::string file)
      : json_(object), file_(std::move(file)) {}

  template <class T>
  void read(const std::string& key, T& value) const {
    const nlohmann::json& field = json_.at(key);
    if constexpr (std::is_same_v<T, std::int64_t>) {
      constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
      require<FileError>(field.is_number_unsigned() ? field.get<std::uint64_t>() <= most
                                                    : !field.is_number_float(),
                         file_, ": ", key, " is ", io::in_short(field.dump()),
                         ", and not a whole number that 64 bits hold");
    }
    field.get_to(value);
  }

  /// `value` stays where there is no such field.
  template <class T>
  void read_if_there(const std::string& key, T& value) const {
    if (json_.contains(key)) read(key, value);
  }

 private:
  const nlohmann::json& json_;
  std::string file_;
};

}  // namespace gradus::examples
