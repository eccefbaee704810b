// JSON with checked access: errors contain the path of a missing, unknown or mistyped value.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gradus::io {

/// A value in a JSON document, with its path. Copies are cheap. All errors are FileErrors such as
/// "tokenizer.json: model.type: …".
class Json {
 public:
  /// Parses an object. Throws for invalid JSON, repeated keys, a NUL, or more than 64 levels.
  /// `name` appears in error messages.
  static Json parse(std::string_view text, const std::string& name);

  bool has(const std::string& key) const;                     // false if the value is null
  Json at(const std::string& key) const;                      // throws if missing or null
  std::vector<std::pair<std::string, Json>> members() const;  // members of an object, sorted by key
  std::vector<Json> elements() const;                         // elements of a list

  bool is_text() const;
  bool is_list() const;
  bool is_object() const;
  std::string text() const;
  std::int64_t as_int() const;  // 64-bit integer
  double number() const;        // a finite number
  bool as_bool() const;

  /// Returns a list of at most `most` integers ≥ 0.
  std::vector<std::uint64_t> sizes(std::size_t most) const;

  /// Returns the value at `key`, or `otherwise` if has(key) is false.
  std::string text(const std::string& key, const std::string& otherwise) const;
  std::int64_t as_int(const std::string& key, std::int64_t otherwise) const;
  double number(const std::string& key, double otherwise) const;
  bool as_bool(const std::string& key, bool otherwise) const;

  /// Throws if the object has a key that is not in `keys`.
  void check_keys(std::initializer_list<const char*> keys) const;
  /// Throws FileError with the file, the path and `complaint`.
  [[noreturn]] void fail(const std::string& complaint) const;
  std::string describe() const;  // shortened for messages

 private:
  struct Document;
  Json(std::shared_ptr<const Document> document, const void* value, std::string path)
      : document_(std::move(document)), value_(value), path_(std::move(path)) {}
  Json below(const void* value, const std::string& step) const;

  std::shared_ptr<const Document> document_;
  const void* value_;  // points into the document
  std::string path_;   // "model.vocab"; "" at the top level
};

}  // namespace gradus::io
