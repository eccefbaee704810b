// Tests the pages of traces and of attention maps.
#include <set>
#include <sstream>

#include "gradus/io/crc32.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/environment.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/trace/tape.h"
#include "gradus/trace/derive.h"
#include "gradus/trace/embedded.h"
#include "gradus/trace/places.h"
#include "gradus/trace/recorder.h"

namespace gradus::testing::test_page {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::string base64_of_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::strtol(hex.substr(i, 2).c_str(), nullptr, 16));
  return trace::base64(bytes);
}

std::string joined(const std::string& ending) {
  std::string out;
  for (std::size_t i = 0; i < trace::kViewerFiles; ++i)
    if (std::string(trace::kViewer[i].path).ends_with(ending))
      out += std::string(trace::kViewer[i].text) + "\n";
  return out;
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != text.npos);
  text.replace(at, from.size(), to);
}

std::string tape_of(const std::string& page) {
  const std::size_t tag = page.find("id=\"tape\""), begin = page.find('>', tag) + 1;
  return page.substr(begin, page.find("</script>", begin) - begin);
}

/// Returns the code blocks of the derivation of `op`, without empty lines.
Lines formulas_of(const std::string& op) {
  Lines out;
  bool inside = false;
  for (const std::string& line : lines_of(derivation(op))) {
    if (line.starts_with("```")) inside = !inside;
    if (inside && !line.empty() && !line.starts_with("```")) out.push_back(line);
  }
  return out;
}

/// Returns the number (from 1) of the first line that contains `part`, or null.
Json first_with(const Lines& lines, std::size_t first, const std::string& part) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (contains(lines[i], part)) return first + i;
  return {};
}

std::string text_of(const std::string& path) {
  for (std::size_t i = 0; i < trace::kOpsFiles; ++i)
    if (trace::kOps[i].path == path) return trace::kOps[i].text;
  return "";
}

void check_definition(const std::string& name, const Json& is) {
  INFO(name);
  const Lines file = lines_of(text_of(is.at("file")));
  const Lines lines = is.at("lines").get<Lines>();
  const std::size_t first = is.at("first");
  REQUIRE(first + lines.size() <= file.size() + 1);
  CHECK(std::equal(lines.begin(), lines.end(),
                   file.begin() + static_cast<std::ptrdiff_t>(first) - 1));
  CHECK(lines.front().starts_with("struct "));
  CHECK(std::find(lines.begin(), lines.end(), "};") == lines.end() - 1);
  CHECK(is.at("forward") == first_with(lines, first, " forward("));
  CHECK(is.at("backward") == first_with(lines, first, " backward("));
  CHECK(is.at("derivation").get<Lines>() == formulas_of(name));
  CHECK(is.size() == 6);
}

}  // namespace

TEST_CASE("a page is trace/viewer/page.html with its parts inserted") {
  const std::string title = "a & b < c > \"d\"", json = "{\"x\":[1,2]}";
  std::string expected = trace::kViewer[0].text;
  char sum[9];
  std::snprintf(sum, sizeof sum, "%08x", io::crc32(json.data(), json.size()));
  replace(expected, "@TITLE@", "a &amp; b &lt; c &gt; &quot;d&quot;");
  replace(expected, "@STYLEHASH@", base64_of_hex(trace::kStyleSha256));
  replace(expected, "@SCRIPTHASH@", base64_of_hex(trace::kScriptSha256));
  replace(expected, "@CRC32@", sum);
  replace(expected, "@OTHER@", "");
  replace(expected, "@PAYLOAD@", json);
  replace(expected, "@STYLE@", joined(".css"));
  replace(expected, "@SCRIPT@", joined(".js"));
  CHECK((trace::page(title, json) == expected));
  CHECK(tape_of(expected) == json);
  CHECK(contains(joined(".js"), "function"));
  CHECK(contains(joined(".css"), "color"));
}

TEST_CASE("the definition of every operation equals that in its file") {
  std::set<std::string> names;
  for (std::size_t i = 0; i < trace::kOpsFiles; ++i)
    for (const std::string& line : lines_of(trace::kOps[i].text))
      if (const std::size_t at = line.find(" name() const override { return \""); at != line.npos) {
        const std::size_t begin = line.find('"', at) + 1;
        names.insert(line.substr(begin, line.find('"', begin) - begin));
      }
  const auto found = trace::definitions(names);
  CHECK(names.size() > 60);
  for (const std::string& name : names) {
    INFO(name);
    REQUIRE(found.contains(name));
    check_definition(name, Json::parse(found.at(name).text));
  }
  CHECK(found.size() == names.size());
  CHECK(trace::definitions({"softmax", "no such operation"}).size() == 1);
}

TEST_CASE("a page of attention maps has the first example of each and the labels") {
  const std::vector<std::string> queries = {"a", "b"}, keys = {"x", "y", "z"};
  const Tensor weights = arange(0.0, 24.0).reshape({2, 2, 2, 3});
  const std::string page = trace::attention_page(
      "maps", {{"blocks.0", weights}, {"blocks.1", slice(weights, 0, 1, 2)}}, queries, keys);
  const ReadTape tape(tape_of(page));
  CHECK(tape.all.at("labels") == Json{{"T", queries}, {"S", keys}});
  REQUIRE(tape.all.at("attention").size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const Json each = tape.all.at("attention").at(i), map = each.at("weights");
    CHECK(tape.at("modules", each.at("module"), "path") == "blocks." + std::to_string(i));
    CHECK(tape.shape(map) == std::vector<std::int64_t>{1, 2, 2, 3});
    const auto first = static_cast<std::int64_t>(i);  // the page shows only the first example
    CHECK(tape.numbers(map) ==
          slice(weights, 0, first, first + 1).to(Dtype::f64).to_vector<double>());
  }
  CHECK(contains(page, "<title>maps</title>"));
  CHECK_REFUSES(ValueError, trace::attention_page("m", {}, queries, keys), "attention_page");
  CHECK_NOTHROW(trace::attention_page("m", {{"a", zeros({1, 5, 2, 3})}}, queries, keys));
  for (const Shape& shape :
       {Shape{1, 1, 2, 2}, Shape{1, 2, 3, 3}, Shape{1, 2, 3}, Shape{1, 2, 2, 3, 1}, Shape{2, 3}})
    CHECK_REFUSES(
        ValueError,
        trace::attention_page("maps", {{"a", weights}, {"b", zeros(shape)}}, queries, keys),
        "attention_page", "b", to_string(shape));
}

TEST_CASE("a page is named after its program and replaces an older page") {
  const NoPrograms quick;
  const Folder folder;
  Trace trace;
  const Tensor y = exp(ones({2}));
  trace.write(folder / "x.html");
  const std::string once = read_bytes(folder / "x.html");
  trace.write(folder / "x.html");
  CHECK((read_bytes(folder / "x.html") == once));
  CHECK(ReadTape(tape_of(once)).all.at("meta").at("title") ==
        std::filesystem::path(trace::program_name()).filename().string());
}

TEST_CASE("program_name is the path of the program's file") {
  CHECK(std::filesystem::exists(trace::program_name()));
  CHECK(trace::program_name().starts_with("/"));
  CHECK(!trace::program_name().starts_with("/proc/"));
}

}  // namespace gradus::testing::test_page
