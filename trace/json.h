// Incremental JSON output.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gradus::trace {

/// A table row or a count. Negative values become null.
using Id = std::int64_t;
constexpr Id kNone = -1;

struct Json {  // a value as JSON text
  std::string text;
};

/// Appends x. NaN and infinity are the strings "nan", "inf", "-inf". Strings are escaped for HTML;
/// invalid UTF-8 becomes U+FFFD.
void put(std::string& out, Id x);
void put(std::string& out, double x);
void put(std::string& out, std::string_view x);
inline void put(std::string& out, const char* x) { put(out, std::string_view(x)); }
inline void put(std::string& out, const std::string& x) { put(out, std::string_view(x)); }
inline void put(std::string& out, const Json& x) { out += x.text; }
inline void put(std::string& out, bool x) { out += x ? "true" : "false"; }

/// {"a":1,"b":2}
template <class T>
void put(std::string& out, const std::map<std::string, T>& all);

/// [a,b,c]
template <class T>
void put(std::string& out, const std::vector<T>& all) {
  out += '[';
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) out += ',';
    put(out, all[i]);
  }
  out += ']';
}

/// {"a":1,"b":2}
template <class T>
void put(std::string& out, const std::map<std::string, T>& all) {
  char before = '{';
  for (const auto& [key, value] : all) {
    put(out += std::exchange(before, ','), key);
    put(out += ':', value);
  }
  out += all.empty() ? "{}" : "}";
}

/// object("rows", 3, "name", "x") → {"rows":3,"name":"x"}
template <class... Parts>
Json object(const Parts&... parts) {
  Json out{"{"};
  int i = 0;
  const auto one = [&](const auto& part) {
    put(out.text, part);
    out.text += i++ % 2 == 0 ? ':' : ',';
  };
  (one(parts), ...);
  out.text.back() = '}';
  return out;
}

/// A table of rows. Omits the trailing nulls of each row.
class JsonTable {
 public:
  explicit JsonTable(std::vector<std::string> columns) : columns_(std::move(columns)) {}

  template <class... Cells>
  Id add(const Cells&... cells) {
    if (size_ > 0) rows_ += ",\n";
    rows_ += '[';
    const auto one = [&](const auto& cell) {
      put(rows_, cell);
      rows_ += ',';
    };
    (one(cells), ...);
    end_row();
    return size_++;
  }
  Id size() const { return size_; }
  std::size_t bytes() const { return rows_.size(); }
  Json json() const { return object("columns", columns_, "rows", Json{"[" + rows_ + "]"}); }

 private:
  void end_row();
  std::vector<std::string> columns_;
  std::string rows_;
  Id size_ = 0;
};

/// Encodes bytes in base64 (RFC 4648), with padding.
std::string base64(std::string_view bytes);

}  // namespace gradus::trace
