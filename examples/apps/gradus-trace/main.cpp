// gradus-trace diff A.html B.html: finds the first value that differs between two traces.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gradus/engine/base/error.h"
#include "gradus/io/crc32.h"
#include "gradus/io/text.h"

namespace gradus {
namespace {

using Json = nlohmann::json;
using Row = std::map<std::string, Json>;

/// Returns a page's trace (docs/reference/trace_format.md). Throws FileError if the page is missing
/// or was changed.
Json tape_of(const std::string& path) {
  const std::string page = io::read_text(path);
  const std::string before = "id=\"tape\" data-crc32=\"";
  const std::size_t at = page.find(before), begin = page.find('>', at) + 1;
  const std::size_t end = page.find("</script>", begin);
  require<FileError>(at != page.npos && end != page.npos, path, ": contains no trace");
  const std::string written = page.substr(at + before.size(), 8),
                    text = page.substr(begin, end - begin);
  char sum[9];
  std::snprintf(sum, sizeof sum, "%08x", io::crc32(text.data(), text.size()));
  require<FileError>(written == sum, path, ": its checksum is ", sum, ", but it was written with ",
                     written, "; the file was changed. Record the trace again");
  return Json::parse(text);
}

class Tape {
 public:
  explicit Tape(const std::string& path) : json_(tape_of(path)) {}

  std::size_t count(const char* table) const { return json_.at(table).at("rows").size(); }
  Row row(const char* table, std::size_t i) const {
    const Json &columns = json_.at(table).at("columns"), &cells = json_.at(table).at("rows").at(i);
    Row out;
    for (std::size_t c = 0; c < columns.size(); ++c)
      out[columns[c]] = c < cells.size() ? cells[c] : Json();
    return out;
  }
  Json shape(std::size_t tensor) const {
    return json_.at("shapes").at(row("tensors", tensor)["shape"].get<std::size_t>());
  }
  Json value(std::size_t tensor) const {
    const Json index = row("tensors", tensor)["values"];
    return index.is_null() ? Json() : json_.at("values").at(index.get<std::size_t>());
  }
  std::string layer(const Json& module) const {
    return module.is_null() ? "" : row("modules", module)["path"].get<std::string>();
  }

 private:
  Json json_;
};

/// Corresponding entries of two traces have the same `name`.
struct Entry {
  std::string name;
  std::size_t tensor;
};

std::vector<Entry> entries_of(const Tape& tape) {
  std::vector<Entry> out;
  std::map<std::string, int> times;
  std::vector<std::string> forward;
  const auto add = [&](const std::string& name, const Json& tensor) {
    if (!tensor.is_null()) out.push_back({name, tensor.get<std::size_t>()});
  };
  for (std::size_t i = 0; i < tape.count("ops"); ++i) {
    Row op = tape.row("ops", i);
    const std::string layer = tape.layer(op["module"]);
    std::string name = op["op"].get<std::string>() + (layer.empty() ? "" : " in " + layer);
    if (const int n = ++times[name]; n > 1) name += ", time " + std::to_string(n);
    for (std::size_t k = 0; k < op["in"].size(); ++k)
      add("input " + std::to_string(k) + " of " + name, op["in"][k]);
    add("result of " + name, op["out"]);
    forward.push_back(name);
  }
  std::vector<std::string> visits;
  for (std::size_t i = 0; i < tape.count("visits"); ++i) {
    Row visit = tape.row("visits", i);
    const std::string name = visit["op"].is_null() ? visit["name"].get<std::string>()
                                                   : forward.at(visit["op"].get<std::size_t>());
    visits.push_back("backward of " + name);
    if (const int n = ++times[visits.back()]; n > 1) visits.back() += ", time " + std::to_string(n);
    add("dy in " + visits.back(), visit["dy"]);
  }
  for (std::size_t i = 0; i < tape.count("ledger"); ++i) {
    Row line = tape.row("ledger", i);
    add("gradient of input " + line["input"].dump() + " in " +
            visits.at(line["visit"].get<std::size_t>()),
        line["contribution"]);
  }
  for (std::size_t i = 0; i < tape.count("updates"); ++i) {
    Row update = tape.row("updates", i);
    add(update["name"].get<std::string>() + " after the update", update["after"]);
  }
  return out;
}

std::vector<double> numbers_of(const Json& value) {
  const bool wide = value.contains("f64");
  std::string bytes;
  unsigned word = 0;
  int bits = 0;
  for (const char c : value.at(wide ? "f64" : "f32").get<std::string>()) {
    constexpr const char* kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char* at = std::strchr(kAlphabet, c);
    if (!at) break;  // padding
    word = word << 6 | static_cast<unsigned>(at - kAlphabet);
    bits += 6;
    if (bits >= 8) bytes += static_cast<char>(word >> (bits -= 8) & 255);
  }
  std::vector<double> out(bytes.size() / (wide ? 8 : 4));
  for (std::size_t i = 0; i < out.size(); ++i) {
    float narrow = 0;
    std::memcpy(wide ? static_cast<void*>(&out[i]) : &narrow, &bytes[i * (wide ? 8 : 4)],
                wide ? 8 : 4);
    if (!wide) out[i] = narrow;
  }
  return out;
}

/// Returns "at [0, 2]: 0.5 and 0.25; 3 of 12 values differ, by at most 0.25".
std::string difference(const std::vector<double>& a, const std::vector<double>& b,
                       const Json& shape) {
  std::size_t first = a.size(), count = 0;
  double most = 0;
  for (std::size_t i = a.size(); i-- > 0;) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    first = i;
    ++count;
    most = std::max(most, std::abs(a[i] - b[i]));
  }
  if (count == 0) return "";  // only −0 and 0
  std::string index;
  std::size_t rest = first;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto size = shape[axis].get<std::size_t>();
    index = std::to_string(rest % size) + (index.empty() ? "" : ", ") + index;
    rest /= size;
  }
  char text[160];
  std::snprintf(text, sizeof text, "%.9g and %.9g; %zu of %zu values differ, by at most %.3g",
                a[first], b[first], count, a.size(), most);
  return "at [" + index + "]: " + text;
}

std::string difference(const Tape& a, std::size_t i, const Tape& b, std::size_t k) {
  const Json shape = a.shape(i), other = b.shape(k), x = a.value(i), y = b.value(k);
  if (shape != other) return "shapes " + shape.dump() + " and " + other.dump();
  if (x == y || x.is_null() || y.is_null()) return "";
  if (x.contains("stats") || y.contains("stats"))
    return x.contains("stats") != y.contains("stats")
               ? ""  // values and a summary: not comparable
               : "statistics (minimum, maximum, mean, deviation, norm …) " + x["stats"].dump() +
                     " and " + y["stats"].dump();
  return difference(numbers_of(x), numbers_of(y), shape);
}

int diff(const std::string& first, const std::string& second) {
  const Tape a(first), b(second);
  std::map<std::string, std::size_t> others;
  for (const Entry& each : entries_of(b)) others.try_emplace(each.name, each.tensor);
  std::size_t same = 0, missing = 0;
  for (const Entry& each : entries_of(a)) {
    const auto other = others.find(each.name);
    if (other == others.end()) {
      ++missing;
      continue;
    }
    const std::string what = difference(a, each.tensor, b, other->second);
    if (what.empty()) {
      ++same;
      continue;
    }
    std::printf("first difference: %s %s\n(%zu tensors before it agree)\n", each.name.c_str(),
                what.c_str(), same);
    return 1;
  }
  std::printf("no difference in %zu tensors; %zu are only in %s\n", same, missing, first.c_str());
  return 0;
}

}  // namespace
}  // namespace gradus

int main(int argc, char** argv) {
  if (argc != 4 || std::strcmp(argv[1], "diff") != 0) {
    std::fprintf(stderr,
                 "usage: gradus-trace diff A.html B.html\n"
                 "Prints the first value that differs between two traces.\n"
                 "Exit code: 0 if none differs, 1 if one does, 2 for an error.\n");
    return 2;
  }
  try {
    return gradus::diff(argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gradus-trace: %s\n", error.what());
    return 2;
  }
}
