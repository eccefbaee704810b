#include "gradus/io/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <variant>

#include "gradus/engine/base/error.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

constexpr int kDeepest = 64;

struct List;
struct Object;

/// A parsed value. Unlike nlohmann::json, its destructor does not allocate, so it cannot end the
/// program if memory runs out.
struct Value {
  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double,
               std::unique_ptr<std::string>, std::unique_ptr<List>, std::unique_ptr<Object>>
      content;

  Value();
  template <class T>
  explicit Value(T given) : content(std::move(given)) {}
  Value(Value&&) noexcept;
  Value& operator=(Value&&) noexcept;
  ~Value();

  const std::string* text() const;
  const std::vector<Value>* list() const;
  const std::map<std::string, Value>* object() const;
};
struct List {
  std::vector<Value> values;
};
struct Object {
  std::map<std::string, Value> members;
};
Value::Value() = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;

const std::string* Value::text() const {
  const auto* found = std::get_if<std::unique_ptr<std::string>>(&content);
  return found ? found->get() : nullptr;
}
const std::vector<Value>* Value::list() const {
  const auto* found = std::get_if<std::unique_ptr<List>>(&content);
  return found ? &(*found)->values : nullptr;
}
const std::map<std::string, Value>* Value::object() const {
  const auto* found = std::get_if<std::unique_ptr<Object>>(&content);
  return found ? &(*found)->members : nullptr;
}

const Value& value_at(const void* value) { return *static_cast<const Value*>(value); }

/// Builds a document from the events of nlohmann's parser.
class Builder {
 public:
  Builder(const std::string& name, Value& root) : name_(name), root_(root) {}

  bool null() { return add(Value()); }
  bool boolean(bool value) { return add(Value(value)); }
  bool number_integer(std::int64_t value) { return add(Value(value)); }
  bool number_unsigned(std::uint64_t value) { return add(Value(value)); }
  bool number_float(double value, const std::string&) { return add(Value(value)); }
  bool string(std::string& text) {
    return add(Value(std::make_unique<std::string>(std::move(text))));
  }
  bool binary(nlohmann::json::binary_t&) { return false; }  // not in JSON texts
  bool start_object(std::size_t) { return open(Value(std::make_unique<Object>())); }
  bool start_array(std::size_t) { return open(Value(std::make_unique<List>())); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& text) {
    check_depth();
    auto& members = std::get<std::unique_ptr<Object>>(open_.back()->content)->members;
    const auto [at, fresh] = members.try_emplace(std::move(text));
    if (!fresh) fail<FileError>(name_, ": the key ", quote(at->first), " appears twice");
    next_ = &at->second;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) {
    fail<FileError>(name_, ": not JSON (", abbreviate(e.what()), ")");
  }

 private:
  void check_depth() const {
    require<FileError>(std::ssize(open_) <= kDeepest, name_, ": the JSON is nested more than ",
                       kDeepest, " levels deep");
  }
  bool add(Value&& value) {
    static_cast<void>(put(std::move(value)));
    return true;
  }
  bool open(Value&& value) {
    open_.push_back(put(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  /// Stores a value at its place in the innermost open list or object.
  Value* put(Value&& value) {
    check_depth();
    if (open_.empty()) return &(root_ = std::move(value));
    if (auto* list = std::get_if<std::unique_ptr<List>>(&open_.back()->content))
      return &(*list)->values.emplace_back(std::move(value));
    return &(*next_ = std::move(value));
  }

  const std::string& name_;
  Value& root_;
  std::vector<Value*> open_;  // the innermost is last; a list does not grow while a value in it
                              // is open
  Value* next_ = nullptr;     // the value of the last key
};

}  // namespace

struct Json::Document {
  std::string name;
  Value value;
};

Json Json::parse(std::string_view text, const std::string& name) {
  // nlohmann::json stops at a NUL.
  require<FileError>(text.find('\0') == std::string_view::npos, name,
                     ": not JSON (contains a NUL byte)");
  auto document = std::make_shared<Document>();
  document->name = name;
  Builder builder(document->name, document->value);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  require<FileError>(document->value.object() != nullptr, name, ": the JSON must be an object");
  const void* value = &document->value;
  return {std::move(document), value, ""};
}

void Json::fail(const std::string& complaint) const {
  gradus::fail<FileError>(document_->name, ": ", abbreviate(path_), path_.empty() ? "" : ": ",
                          complaint);
}

std::string Json::describe() const {
  const Value& value = value_at(value_);
  if (value.object()) return "an object";
  if (value.list()) return "a list";
  if (value.text()) return quote(*value.text());
  if (const auto* flag = std::get_if<bool>(&value.content)) return *flag ? "true" : "false";
  if (const auto* real = std::get_if<double>(&value.content)) return nlohmann::json(*real).dump();
  if (const auto* whole = std::get_if<std::int64_t>(&value.content)) return std::to_string(*whole);
  if (const auto* whole = std::get_if<std::uint64_t>(&value.content)) return std::to_string(*whole);
  return "null";
}

Json Json::below(const void* value, const std::string& step) const {
  const bool plain = std::all_of(step.begin(), step.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '[' || c == ']';
  });
  const bool dot = !path_.empty() && step[0] != '[';
  return {document_, value, path_ + (dot ? "." : "") + (plain ? step : quote(step))};
}

bool Json::has(const std::string& key) const {
  const auto* members = value_at(value_).object();
  if (!members) return false;
  const auto found = members->find(key);
  return found != members->end() && !std::holds_alternative<std::nullptr_t>(found->second.content);
}

Json Json::at(const std::string& key) const {
  if (!is_object()) fail(describe() + " is not an object");
  if (!has(key)) fail(str_cat("\"", key, "\" is missing"));
  return below(&value_at(value_).object()->at(key), key);
}

std::vector<std::pair<std::string, Json>> Json::members() const {
  if (!is_object()) fail(describe() + " is not an object");
  std::vector<std::pair<std::string, Json>> all;
  for (const auto& [key, value] : *value_at(value_).object())
    all.emplace_back(key, below(&value, key));
  return all;
}

std::vector<Json> Json::elements() const {
  if (!is_list()) fail(describe() + " is not a list");
  std::vector<Json> all;
  for (const Value& value : *value_at(value_).list())
    all.push_back(below(&value, str_cat("[", all.size(), "]")));
  return all;
}

bool Json::is_text() const { return value_at(value_).text() != nullptr; }
bool Json::is_list() const { return value_at(value_).list() != nullptr; }
bool Json::is_object() const { return value_at(value_).object() != nullptr; }

std::string Json::text() const {
  if (!is_text()) fail(describe() + " is not a string");
  return *value_at(value_).text();
}

std::int64_t Json::as_int() const {
  const Value& value = value_at(value_);
  if (const auto* whole = std::get_if<std::int64_t>(&value.content)) return *whole;
  const auto* whole = std::get_if<std::uint64_t>(&value.content);
  const bool fits = whole && *whole <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (!fits) fail(describe() + " is not an integer");
  return static_cast<std::int64_t>(*whole);
}

double Json::number() const {
  const Value& value = value_at(value_);
  if (const auto* real = std::get_if<double>(&value.content)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value.content))
    return static_cast<double>(*whole);
  const auto* whole = std::get_if<std::uint64_t>(&value.content);
  if (!whole) fail(describe() + " is not a number");
  return static_cast<double>(*whole);
}

bool Json::as_bool() const {
  const auto* flag = std::get_if<bool>(&value_at(value_).content);
  if (!flag) fail(describe() + " is not true or false");
  return *flag;
}

std::vector<std::uint64_t> Json::sizes(std::size_t most) const {
  if (const auto* list = value_at(value_).list(); list && list->size() > most)
    fail(str_cat("must have at most ", most, " entries, got ", list->size()));
  std::vector<std::uint64_t> all;
  for (const Json& each : elements()) {
    if (each.as_int() < 0) each.fail(each.describe() + " is negative");
    all.push_back(static_cast<std::uint64_t>(each.as_int()));
  }
  return all;
}

std::string Json::text(const std::string& key, const std::string& otherwise) const {
  return has(key) ? at(key).text() : otherwise;
}
std::int64_t Json::as_int(const std::string& key, std::int64_t otherwise) const {
  return has(key) ? at(key).as_int() : otherwise;
}
double Json::number(const std::string& key, double otherwise) const {
  return has(key) ? at(key).number() : otherwise;
}
bool Json::as_bool(const std::string& key, bool otherwise) const {
  return has(key) ? at(key).as_bool() : otherwise;
}

void Json::check_keys(std::initializer_list<const char*> keys) const {
  for (const auto& [key, value] : members()) {
    const auto same = [&key = key](const char* each) { return key == each; };
    if (std::none_of(keys.begin(), keys.end(), same)) value.fail("this key is not supported");
  }
}

}  // namespace gradus::io
