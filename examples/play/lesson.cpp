#include "gradus/examples/play/lesson.h"

#include <cmath>

namespace gradus::play {
namespace {

using nlohmann::json;

constexpr std::size_t kMostRows = 64;  // maximum number of rows, and of columns

void check_number(const Field& field, const json& value) {
  if (!value.is_number()) throw FieldError(field.name, "must be a number, got " + value.dump());
  const auto number = value.get<double>();
  if (field.kind.starts_with("integer") && number != std::floor(number))
    throw FieldError(field.name, str_cat("must be an integer, got ", number));
  if (!(field.lowest <= number && number <= field.highest))
    throw FieldError(field.name, str_cat("must be from ", field.lowest, " to ", field.highest,
                                         ", got ", number));
}

void check_row(const Field& field, const json& value) {
  if (!value.is_array() || value.empty() || value.size() > kMostRows)
    throw FieldError(field.name, str_cat("must have 1 to ", kMostRows, " values per row"));
  for (const json& each : value) check_number(field, each);
}

void check_rows(const Field& field, const json& value) {
  if (!value.is_array() || value.empty() || value.size() > kMostRows)
    throw FieldError(field.name, str_cat("must have 1 to ", kMostRows, " rows"));
  for (const json& each : value) {
    check_row(field, each);
    if (each.size() != value[0].size())
      throw FieldError(field.name, str_cat("all rows must have the same length, got ",
                                           value[0].size(), " and ", each.size()));
  }
}

void check_text(const Field& field, const json& value) {
  if (!value.is_string()) throw FieldError(field.name, "must be a text");
  const auto length = static_cast<double>(value.get_ref<const std::string&>().size());
  if (!(field.lowest <= length && length <= field.highest))
    throw FieldError(field.name, str_cat("must have ", field.lowest, " to ", field.highest,
                                         " bytes, got ", length));
}

void check_field(const Field& field, const json& value) {
  if (field.kind == "rows") return check_rows(field, value);
  if (field.kind == "row" || field.kind == "integers") return check_row(field, value);
  if (field.kind == "text") return check_text(field, value);
  check_number(field, value);
}

/// Splits UTF-8 text into characters.
std::vector<std::string> characters(const std::string& text) {
  std::vector<std::string> all;
  for (const char byte : text) {
    const bool continues = (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
    if (!continues || all.empty()) all.emplace_back();
    all.back() += byte;
  }
  return all;
}

}  // namespace

Field number(std::string name, std::string label, double value, double lowest, double highest) {
  return {std::move(name), "number", std::move(label), value, lowest, highest};
}
Field integer(std::string name, std::string label, std::int64_t value, double lowest,
              double highest) {
  return {std::move(name), "integer", std::move(label), value, lowest, highest};
}
Field integers(std::string name, std::string label, const std::vector<std::int64_t>& value,
               double lowest, double highest) {
  return {std::move(name), "integers", std::move(label), value, lowest, highest};
}
Field row(std::string name, std::string label, const Row& value, double limit) {
  return {std::move(name), "row", std::move(label), value, -limit, limit};
}
Field rows(std::string name, std::string label, const Rows& value, double limit) {
  return {std::move(name), "rows", std::move(label), value, -limit, limit};
}
Field text(std::string name, std::string label, std::string value, double longest) {
  return {std::move(name), "text", std::move(label), std::move(value), 1, longest};
}

std::string known_characters(const std::string& prompt, const std::string& text) {
  std::string kept;
  for (const std::string& each : characters(prompt))
    if (text.find(each) != std::string::npos) kept += each;
  return kept.empty() ? characters(text).front() : kept;
}

using std::int64_t;

json attention_map(const std::string& layer, const Tensor& weights, const std::string& queries,
                   const std::string& keys) {
  return {{"layer", layer},
          {"shape", {weights.size(0), weights.size(1), weights.size(2)}},
          {"values", weights.to_vector<float>()},
          {"queries", queries},
          {"keys", keys}};
}

Values::Values(const std::vector<Field>& fields, const json& given) {
  for (const auto& [name, value] : given.items()) {
    bool known = name == "part";
    for (const Field& field : fields) known = known || field.name == name;
    if (!known) throw FieldError(name, "is not a field of this part");
  }
  for (const Field& field : fields) {
    const json& value = given.contains(field.name) ? given.at(field.name) : field.value;
    check_field(field, value);
    values_[field.name] = value;
  }
}

}  // namespace gradus::play
