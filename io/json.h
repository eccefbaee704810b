// JSON from outside, read by path: what is missing, unknown or of the wrong type is an error that
// says where.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gradus::io {

/// A value in a JSON document, and where it stands. Copies are cheap and keep the document alive.
/// All errors are FileErrors: "tokenizer.json: model.type: …".
class Json {
 public:
  /// A document that is an object. FileError: not JSON, a key twice in one object, a NUL, values
  /// more than 64 deep. `name` stands for the file in messages.
  static Json parse(std::string_view text, const std::string& name);

  bool has(const std::string& key) const;  // an object with that key, and not null there
  Json at(const std::string& key) const;   // FileError: no object, no such key, null
  std::vector<std::pair<std::string, Json>> members() const;  // of an object, by key
  std::vector<Json> elements() const;                         // of a list

  bool is_text() const;
  bool is_list() const;
  bool is_object() const;
  std::string text() const;
  std::int64_t as_int() const;  // a whole number within 64 bits
  double number() const;        // any finite number
  bool as_bool() const;         // true or false

  /// A list of at most `most` whole numbers, none negative.
  std::vector<std::uint64_t> sizes(std::size_t most) const;

  /// The value at `key`, or `otherwise` where has(key) is false.
  std::string text(const std::string& key, const std::string& otherwise) const;
  std::int64_t as_int(const std::string& key, std::int64_t otherwise) const;
  double number(const std::string& key, double otherwise) const;
  bool as_bool(const std::string& key, bool otherwise) const;

  /// FileError names the first key of this object that is none of `keys`.
  void check_keys(std::initializer_list<const char*> keys) const;
  /// FileError: file, path, `complaint`.
  [[noreturn]] void fail(const std::string& complaint) const;
  std::string describe() const;  // the value, short enough for a message

 private:
  struct Document;
  Json(std::shared_ptr<const Document> document, const void* value, std::string path)
      : document_(std::move(document)), value_(value), path_(std::move(path)) {}
  Json below(const void* value, const std::string& step) const;

  std::shared_ptr<const Document> document_;
  const void* value_;  // the JSON library's, within the document
  std::string path_;   // "model.vocab", "" at the top
};

}  // namespace gradus::io
