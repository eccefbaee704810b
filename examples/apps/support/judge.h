// Validates settings and memory before anything is allocated.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "gradus/engine/base/error.h"

namespace gradus::examples {

/// A lower bound of a run's memory in bytes. Doubles avoid overflow.
struct Need {
  double parameters = 0;  // count, not bytes
  double step = 0;        // tensors saved for backward
  double evaluation = 0;
  double data = 0;
  /// Includes weights, gradients, two moments, data, and the largest of step, evaluation and
  /// checkpoint.
  double training() const;
  double using_it() const { return 4 * parameters; }
};

/// Returns the bytes that blocks save for backward: norms, queries, keys, values, feed-forward
/// inputs.
double kept_by_blocks(double layers, double tokens, double width);

inline constexpr const char* kWayOn = "; restore the original files, or start a new run";

class Judge {
 public:
  /// `file` is settings.json, or "" for the command line.
  explicit Judge(std::string file = "") : file_(std::move(file)) {}

  /// Returns "--eval-every" or "runs/x/settings.json: eval_every".
  std::string name(const std::string& key) const;

  /// Throws if `value` is outside the range of `key` in judge.cpp.
  void number(const std::string& key, double value) const;
  void number(const std::string& key, std::int64_t value) const;

  /// Throws if `word` is not in `choices`, unless `choices` is empty.
  void choice(const std::string& key, const std::string& word,
              const std::vector<std::string>& choices) const;

  template <class T, class... Parts>
  void require(bool holds, const std::string& key, const T& value, const Parts&... parts) const {
    if (!holds) refuse(str_cat(name(key), " ", value, parts...));
  }

  /// Throws if `bytes` are not available. The message names `sizes`, such as {{"batch", 64}}.
  void memory(double bytes, const std::vector<std::pair<const char*, std::int64_t>>& sizes) const;

 private:
  [[noreturn]] void refuse(const std::string& what) const;
  std::string file_;
};

/// Reads settings.json. Throws FileError for invalid JSON, wrong types, missing fields and, in
/// finish(), unknown fields.
class SettingsFile {
 public:
  SettingsFile(const std::string& text, std::string file, std::string program);
  static std::string text_of(const std::string& file);
  bool has(const std::string& key) const { return json_.contains(key); }

  template <class T>
  void read(const std::string& key, T& to) {
    to = field(key, kind_of<T>()).template get<T>();
  }
  template <class T>
  void read_if_there(const std::string& key, T& to) {
    if (has(key)) read(key, to);
  }
  SettingsFile part(const std::string& key);  // a nested object
  void finish() const;

 private:
  enum class Kind { whole, number, truth, words, list };
  template <class T>
  static constexpr Kind kind_of() {
    if constexpr (std::is_same_v<T, bool>) return Kind::truth;
    if constexpr (std::is_same_v<T, std::int64_t>) return Kind::whole;
    if constexpr (std::is_same_v<T, double>) return Kind::number;
    return std::is_same_v<T, std::string> ? Kind::words : Kind::list;
  }
  const nlohmann::json& field(const std::string& key, Kind kind);
  [[noreturn]] void refuse(const std::string& what) const;

  std::string file_, program_;
  nlohmann::json json_;
  std::set<std::string> known_;
};

}  // namespace gradus::examples
