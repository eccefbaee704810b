// The one judge of settings, whether flags or settings.json give them, before anything is made of
// them: types, ranges, what fits together, and the memory that a run will take.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "gradus/engine/base/error.h"

namespace gradus::examples {

/// Bytes that a run holds at its peak, at least; doubles, which no product of sizes overflows.
struct Need {
  double parameters = 0;  // numbers in the model: f32
  double step = 0;        // bytes that a training step keeps for its backward pass
  double evaluation = 0;  // bytes that an evaluation keeps
  double data = 0;        // bytes of what is learnt from
  /// Weights, gradients and two moments, and then a step, an evaluation or the checkpoint's copy.
  double training() const;
  double using_it() const { return 4 * parameters; }
};

/// What a block keeps of each token: norms, queries, keys, values, the feed-forward net's inputs.
double kept_by_blocks(double layers, double tokens, double width);

/// How errors about a run's file end.
inline constexpr const char* kWayOn = "; put back what the run began with, or start a new one";

class Judge {
 public:
  /// Of the command line, or of a run's settings.json.
  explicit Judge(std::string file = "") : file_(std::move(file)) {}

  /// "--eval-every" or "runs/x/settings.json: eval_every".
  std::string name(const std::string& key) const;

  /// `value` lies in the range that the table in judge.cpp has for `key`; without one it may be
  /// anything.
  void number(const std::string& key, double value) const;
  void number(const std::string& key, std::int64_t value) const;

  /// `word` is one of these; of none it may be anything.
  void choice(const std::string& key, const std::string& word,
              const std::vector<std::string>& choices) const;

  /// The error says which value it is of, what is wrong with it, and how to mend it.
  template <class T, class... Parts>
  void require(bool holds, const std::string& key, const T& value, const Parts&... parts) const {
    if (!holds) refuse(str_cat(name(key), " ", value, parts...));
  }

  /// There is room for so many bytes. `sizes` are what to change: {{"batch", 64}, …}.
  void memory(double bytes, const std::vector<std::pair<const char*, std::int64_t>>& sizes) const;

 private:
  [[noreturn]] void refuse(const std::string& what) const;
  std::string file_;
};

/// settings.json, one field after the other. FileError, in one line: not JSON, a field of another
/// type, one that is missing, or (finish) one that was not asked for.
class SettingsFile {
 public:
  /// `text` is what `file` holds: text_of(file).
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
  SettingsFile part(const std::string& key);  // an object inside
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
