// A whole tape as lines, without what differs between machines and runs.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>

#include "gradus/tests/trace/tape.h"

namespace gradus::testing {

inline std::string four_digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

/// Numbers of a block of base64, or of a list of JSON, with four digits.
inline std::string numbers_text(const Json& block) {
  std::string out;
  if (block.is_array()) {
    for (const Json& each : block)
      out += " " + (each.is_string() ? each.get<std::string>() : four_digits(each.get<double>()));
    return out;
  }
  for (const char* kind : {"f32", "f64"})
    if (block.contains(kind)) {
      out = kind;
      for (const double x : ReadTape::numbers_of(block)) out += " " + four_digits(x);
    }
  if (block.contains("rows"))
    out = block.at("rows").dump() + "x" + block.at("columns").dump() + " " + out;
  return out;
}

inline std::string value_text(const Json& value) {
  if (!value.contains("stats")) return numbers_text(value);
  std::string out = "stats" + numbers_text(value.at("stats"));
  for (const char* part : {"picture", "corners", "histogram"})
    if (value.contains(part)) out += std::string("; ") + part + " " + numbers_text(value.at(part));
  return out;
}

/// Of nodes the first has the number 0. Of a stack it is said only whether there is one.
inline std::string row_text(const Json& columns, Json row, std::int64_t first_node) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (columns[i] == "node" && !row[i].is_null()) row[i] = row[i].get<std::int64_t>() - first_node;
    if (columns[i] == "stack" && !row[i].is_null()) row[i] = "here";
  }
  return row.dump();
}

inline std::string table_text(const ReadTape& tape, const std::string& name) {
  const Json& table = tape.all.at(name);
  std::int64_t first = std::int64_t{1} << 62;
  if (name == "ops")
    for (std::size_t i = 0; i < tape.count("ops"); ++i)
      if (const Json node = tape.at("ops", i, "node"); !node.is_null())
        first = std::min(first, node.get<std::int64_t>());
  std::string out = name + " " + table.at("columns").dump() + "\n";
  int number = 0;
  for (const Json& row : table.at("rows"))
    out += "  " + std::to_string(number++) + " " + row_text(table.at("columns"), row, first) + "\n";
  return out;
}

inline std::string tape_text(const std::string& json) {
  ReadTape tape(json);
  tape.all["meta"]["program"] = tape.all["meta"]["library"] = "…";
  if (!tape.all["failure"].is_null()) tape.all["failure"]["stack"] = "here";
  std::string out;
  for (const auto& [key, value] : tape.all.items()) {
    if (key == "frames" || key == "stacks" || key == "files" || key == "sources") continue;
    if (value.is_object() && value.contains("columns")) {
      out += table_text(tape, key);
    } else if (key == "opdefs") {
      out += key;
      for (const auto& [op, definition] : value.items())
        out += " " + op + " of " + definition.at("file").get<std::string>();
      out += "\n";
    } else if (key == "values") {
      out += "values\n";
      for (std::size_t i = 0; i < value.size(); ++i)
        out += "  " + std::to_string(i) + " " + value_text(value[i]) + "\n";
    } else {
      out += key + " " + value.dump() + "\n";
    }
  }
  return out;
}

}  // namespace gradus::testing
