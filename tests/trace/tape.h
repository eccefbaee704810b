// Reads the JSON of a trace.
#pragma once

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gradus/tests/support/catch.h"
#include "gradus/trace/trace.h"

namespace gradus::testing {

using Json = nlohmann::json;

class ReadTape {
 public:
  explicit ReadTape(Trace& trace) : ReadTape(trace.json()) {}
  explicit ReadTape(const std::string& text) : all(Json::parse(text)) {}

  std::size_t count(const std::string& table) const { return all.at(table).at("rows").size(); }
  Json at(const std::string& table, std::size_t row, const std::string& column) const {
    const Json& columns = all.at(table).at("columns");
    for (std::size_t c = 0; c < columns.size(); ++c)
      if (columns[c] == column) {
        const Json& cells = all.at(table).at("rows").at(row);
        return c < cells.size() ? cells[c] : Json();
      }
    FAIL("no column " << column << " in " << table);
    return {};
  }
  std::vector<double> numbers(const Json& tensor) const { return numbers_of(value(tensor)); }
  static std::vector<double> numbers_of(const Json& block) {
    const bool wide = block.contains("f64");
    const std::string bytes = decoded(block.at(wide ? "f64" : "f32"));
    std::vector<double> out(bytes.size() / (wide ? 8 : 4));
    for (std::size_t i = 0; i < out.size(); ++i) {
      float narrow = 0;
      if (wide) std::memcpy(&out[i], bytes.data() + 8 * i, 8);
      if (!wide) std::memcpy(&narrow, bytes.data() + 4 * i, 4);
      if (!wide) out[i] = narrow;
    }
    return out;
  }
  Json value(const Json& tensor) const {
    return all.at("values").at(
        at("tensors", tensor.get<std::size_t>(), "values").get<std::size_t>());
  }
  std::vector<std::int64_t> shape(const Json& tensor) const {
    const Json index = at("tensors", tensor.get<std::size_t>(), "shape");
    return all.at("shapes").at(index.get<std::size_t>()).get<std::vector<std::int64_t>>();
  }
  std::vector<std::size_t> ops(const std::string& name) const {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < count("ops"); ++i)
      if (at("ops", i, "op") == name) rows.push_back(i);
    return rows;
  }

  static std::string decoded(const std::string& base64) {
    std::string out;
    unsigned word = 0;
    int bits = 0;
    for (const char c : base64) {
      if (c == '=') break;
      word = word << 6 | index_of(c);
      bits += 6;
      if (bits >= 8) out += static_cast<char>(word >> (bits -= 8) & 255);
    }
    return out;
  }

  Json all;

 private:
  static unsigned index_of(char c) {
    if (c >= 'A' && c <= 'Z') return static_cast<unsigned>(c - 'A');
    if (c >= 'a' && c <= 'z') return static_cast<unsigned>(c - 'a' + 26);
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0' + 52);
    return c == '+' ? 62 : 63;
  }
};

}  // namespace gradus::testing
