#include "gradus/io/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <limits>
#include <unordered_set>

#include "gradus/engine/base/error.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

using Value = nlohmann::json;

constexpr int kDeepest = 64;

const Value& value_at(const void* value) { return *static_cast<const Value*>(value); }

}  // namespace

struct Json::Document {  // NOLINT(bugprone-exception-escape): moving JSON throws nothing
  std::string name;
  Value value;
};

Json Json::parse(std::string_view text, const std::string& name) {
  // nlohmann::json stops at a NUL and keeps the last of repeated keys.
  require<FileError>(text.find('\0') == std::string_view::npos, name,
                     ": not JSON (contains a NUL byte)");
  std::vector<std::unordered_set<std::string>> keys;  // keys of each open object
  const auto look = [&](int depth, Value::parse_event_t event, Value& parsed) {
    require<FileError>(depth <= kDeepest, name, ": the JSON is nested more than ", kDeepest,
                       " levels deep");
    if (event == Value::parse_event_t::object_start) keys.emplace_back();
    if (event == Value::parse_event_t::object_end) keys.pop_back();
    if (event == Value::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second)
        gradus::fail<FileError>(name, ": the key ", quote(key), " appears twice");
    }
    return true;
  };
  auto document = std::make_shared<Document>();
  document->name = name;
  try {
    document->value = Value::parse(text.begin(), text.end(), look);
  } catch (const Value::exception& e) {
    gradus::fail<FileError>(name, ": not JSON (", abbreviate(e.what()), ")");
  }
  require<FileError>(document->value.is_object(), name, ": the JSON must be an object");
  const void* value = &document->value;
  return {std::move(document), value, ""};
}

void Json::fail(const std::string& complaint) const {
  gradus::fail<FileError>(document_->name, ": ", abbreviate(path_), path_.empty() ? "" : ": ",
                          complaint);
}

std::string Json::describe() const {
  const Value& value = value_at(value_);
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  return value.is_string() ? quote(value.get_ref<const std::string&>()) : value.dump();
}

Json Json::below(const void* value, const std::string& step) const {
  const bool plain = std::all_of(step.begin(), step.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '[' || c == ']';
  });
  const bool dot = !path_.empty() && step[0] != '[';
  return {document_, value, path_ + (dot ? "." : "") + (plain ? step : quote(step))};
}

bool Json::has(const std::string& key) const {
  const Value& value = value_at(value_);
  const auto found = value.find(key);
  return found != value.end() && !found->is_null();
}

Json Json::at(const std::string& key) const {
  if (!is_object()) fail(describe() + " is not an object");
  if (!has(key)) fail(str_cat("\"", key, "\" is missing"));
  return below(&*value_at(value_).find(key), key);
}

std::vector<std::pair<std::string, Json>> Json::members() const {
  if (!is_object()) fail(describe() + " is not an object");
  std::vector<std::pair<std::string, Json>> all;
  for (const auto& [key, value] : value_at(value_).items())
    all.emplace_back(key, below(&value, key));
  return all;
}

std::vector<Json> Json::elements() const {
  if (!is_list()) fail(describe() + " is not a list");
  std::vector<Json> all;
  for (const Value& value : value_at(value_))
    all.push_back(below(&value, str_cat("[", all.size(), "]")));
  return all;
}

bool Json::is_text() const { return value_at(value_).is_string(); }
bool Json::is_list() const { return value_at(value_).is_array(); }
bool Json::is_object() const { return value_at(value_).is_object(); }

std::string Json::text() const {
  if (!is_text()) fail(describe() + " is not a string");
  return value_at(value_).get<std::string>();
}

std::int64_t Json::as_int() const {
  const Value& value = value_at(value_);
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() &&
                      value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max());
  if (!fits) fail(describe() + " is not an integer");
  return value.get<std::int64_t>();
}

double Json::number() const {
  if (!value_at(value_).is_number()) fail(describe() + " is not a number");
  return value_at(value_).get<double>();
}

bool Json::as_bool() const {
  if (!value_at(value_).is_boolean()) fail(describe() + " is not true or false");
  return value_at(value_).get<bool>();
}

std::vector<std::uint64_t> Json::sizes(std::size_t most) const {
  if (is_list() && value_at(value_).size() > most)
    fail(str_cat("must have at most ", most, " entries, got ", value_at(value_).size()));
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
