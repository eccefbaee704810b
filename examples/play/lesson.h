// Describes lessons to the playground: their parts, and the values that users edit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "gradus/engine/base/error.h"
#include "gradus/engine/tensor.h"

namespace gradus::play {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

/// Thrown for a value outside its field's range, or of the wrong kind.
class FieldError : public Error {
 public:
  FieldError(std::string name, const std::string& problem)
      : Error(name + ": " + problem), field(std::move(name)) {}
  std::string field;
};

/// A value that users edit. The limits apply to each number, or to the length of a text.
struct Field {
  std::string name, kind, label;
  nlohmann::json value;  // initial
  double lowest, highest;
};

Field number(std::string name, std::string label, double value, double lowest, double highest);
Field integer(std::string name, std::string label, std::int64_t value, double lowest,
              double highest);
Field integers(std::string name, std::string label, const std::vector<std::int64_t>& value,
               double lowest, double highest);
Field row(std::string name, std::string label, const Row& value, double limit);
Field rows(std::string name, std::string label, const Rows& value, double limit);
Field text(std::string name, std::string label, std::string value, double longest);

/// Validated values of a part's fields.
class Values {
 public:
  /// Throws FieldError if a value is not of its field's kind or outside its range.
  Values(const std::vector<Field>& fields, const nlohmann::json& given);

  double number(const char* name) const { return at(name).get<double>(); }
  template <class T = int>
  T integer(const char* name) const {
    return at(name).get<T>();
  }
  std::vector<std::int64_t> integers(const char* name) const {
    return at(name).get<std::vector<std::int64_t>>();
  }
  Row row(const char* name) const { return at(name).get<Row>(); }
  Rows rows(const char* name) const { return at(name).get<Rows>(); }
  std::string text(const char* name) const { return at(name).get<std::string>(); }

 private:
  const nlohmann::json& at(const char* name) const { return values_.at(name); }
  nlohmann::json values_;
};

/// A model in training.
class Training {
 public:
  virtual ~Training() = default;
  virtual double step() = 0;  // returns the loss
  virtual nlohmann::json picture() { return nlohmann::json::object(); }
};

/// A function of a lesson. Either `run` or `train` is set. `call` is the C++ call, with {field} for
/// each value. If it is empty, the call is name(field, field, …). `passes` has a sentence for each
/// backward pass of `run`, or for none, with backticks around formulas. `untraced` says why steps
/// have no trace, if they have none.
struct Part {
  std::string name, title;
  std::vector<Field> fields;
  std::function<void(const Values&)> run = {};
  std::function<std::unique_ptr<Training>(const Values&)> train = {};
  std::string call = {};
  std::vector<std::string> passes = {};
  std::string untraced = {};
};

struct Lesson {
  int number;
  std::string title, source;  // source: path from the root of the project
  Dtype dtype;
  std::vector<Part> parts;
};

const std::vector<Lesson>& lessons();

/// Returns the characters of `prompt` that `text` has, because the model knows no others. Returns
/// the first character of `text` if none is left.
std::string known_characters(const std::string& prompt, const std::string& text);

/// Describes attention weights [H, T, S] for Training::picture(). Queries and keys are texts.
nlohmann::json attention_map(const std::string& layer, const Tensor& weights,
                             const std::string& queries, const std::string& keys);

}  // namespace gradus::play
