// What a reader says of documents with one thing changed.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gradus/tests/io/golden.h"

namespace gradus::testing {

/// What f returns or throws, in one line; of a JSON library's message only that there is one.
template <class F>
std::string outcome_of(F f) {
  std::string text;
  try {
    text = f();
  } catch (const std::exception& error) {
    text = error.what();
  }
  const std::size_t not_json = text.find(": not JSON: [");
  if (not_json != text.npos) text.resize(not_json + 10);
  std::replace(text.begin(), text.end(), '\n', '|');
  return text;
}

/// Changes and what came of them, those with the same outcome in one line.
class Outcomes {
 public:
  void add(const std::string& change, const std::string& outcome) {
    if (!changes_.contains(outcome)) order_.push_back(outcome);
    changes_[outcome] += " " + change;
  }
  std::string text() const {
    std::string out;
    for (const std::string& each : order_) out += " " + changes_.at(each) + ": " + each + "\n";
    return out;
  }

 private:
  std::map<std::string, std::string> changes_;
  std::vector<std::string> order_;
};

using Document = nlohmann::ordered_json;

/// The places of all values, parents first; of those below `closed` none.
inline void places_in(const Document& value, const Document::json_pointer& at,
                      const std::string& closed, std::vector<Document::json_pointer>& out) {
  if (!at.empty()) out.push_back(at);
  if (!closed.empty() && at.to_string() == closed) return;
  if (value.is_object())
    for (const auto& [key, member] : value.items()) places_in(member, at / key, closed, out);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i) places_in(value[i], at / i, closed, out);
}

/// For each place of a document what `read` makes of its text where the value there is left out, or
/// is one of `values`, JSON, or has one key more. `read` may say "as before".
template <class F>
std::string every_change(const Document& base, const std::vector<std::string>& values,
                         const std::string& closed, F read) {
  std::vector<Document::json_pointer> places;
  places_in(base, Document::json_pointer(), closed, places);
  std::string out;
  for (const auto& at : places) {
    Outcomes outcomes;
    Document changed = base;
    Document& parent = changed[at.parent_pointer()];
    if (parent.is_array())
      parent.erase(parent.begin() + std::stoi(at.back()));
    else
      parent.erase(at.back());
    outcomes.add("gone", outcome_of([&] { return read(changed.dump()); }));
    for (const std::string& value : values) {
      changed = base;
      changed[at] = Document::parse(value);
      outcomes.add(value, outcome_of([&] { return read(changed.dump()); }));
    }
    changed = base;
    if (changed[at].is_object()) {
      changed[at]["one more"] = 1;
      outcomes.add("more", outcome_of([&] { return read(changed.dump()); }));
    }
    out += at.to_string() + "\n" + outcomes.text();
  }
  return out;
}

/// For each byte of a file what `read` makes of it when that byte is another, and where the file
/// ends before it; neighbours with the same outcome in one line.
template <class F>
std::string every_byte(const std::string& bytes, const std::vector<int>& values, F read) {
  std::string out, last;
  std::size_t from = 0;
  const auto flush = [&](std::size_t end) {
    if (!last.empty())
      out += std::to_string(from) + (end - from > 1 ? "-" + std::to_string(end - 1) : "") + "\n" +
             last;
  };
  for (std::size_t i = 0; i <= bytes.size(); ++i) {
    Outcomes outcomes;
    outcomes.add("end", outcome_of([&] { return read(bytes.substr(0, i)); }));
    for (const int value : values) {
      std::string changed = bytes;
      if (i < bytes.size()) changed[i] = static_cast<char>(value < 0 ? bytes[i] - value : value);
      if (changed == bytes) changed += "x";  // or one more
      outcomes.add(value < 0 ? "+" + std::to_string(-value) : std::to_string(value),
                   outcome_of([&] { return read(changed); }));
    }
    if (outcomes.text() == last) continue;
    flush(i);
    from = i, last = outcomes.text();
  }
  flush(bytes.size() + 1);
  return out;
}

}  // namespace gradus::testing
