// The page: viewer/page.html with the style, the script and the tape put in.
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/io/crc32.h"
#include "gradus/trace/embedded.h"
#include "gradus/trace/json.h"
#include "gradus/trace/places.h"
#include "gradus/trace/recorder.h"

namespace gradus::trace {
namespace {

/// 'sha256-…': the browser runs this script and no other.
std::string script_source() {
  std::string bytes;
  for (const char* at = kScriptSha256; *at; at += 2)
    bytes += static_cast<char>(std::stoi(std::string(at, 2), nullptr, 16));
  return "'sha256-" + base64(bytes) + "'";
}

std::string files_ending_in(std::string_view end) {
  std::string out;
  for (std::size_t i = 1; i < kViewerFiles; ++i)
    if (std::string_view(kViewer[i].path).ends_with(end)) out += kViewer[i].text;
  return out;
}

std::string tape_element(const std::string& json) {
  char sum[9];
  std::snprintf(sum, sizeof sum, "%08x", io::crc32(json.data(), json.size()));
  return "<script type=\"application/json\" id=\"tape\" data-crc32=\"" + std::string(sum) + "\">" +
         json + "</script>";
}

struct Definition {
  std::string file = {};
  Id first = kNone, forward = kNone, backward = kNone;
  std::vector<std::string> lines = {}, names = {};

  void take(const std::string& line, Id number) {
    if (first == kNone) return;
    lines.push_back(line);
    if (forward == kNone && line.find(" forward(") != line.npos) forward = number;
    if (backward == kNone && line.find(" backward(") != line.npos) backward = number;
    if (line.find(" name() const override") == line.npos) return;
    for (std::size_t at = line.find('"'); at != line.npos; at = line.find('"', at + 1)) {
      const std::size_t end = line.find('"', at + 1);
      names.push_back(line.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  Json json() const {
    return object("file", file, "first", first, "forward", forward, "backward", backward, "lines",
                  lines);
  }
};

}  // namespace

std::string page(const std::string& title, const std::string& json) {
  std::string out;
  std::string_view rest = kViewer[0].text;
  for (std::size_t at; (at = rest.find("{{")) != rest.npos;) {
    out += rest.substr(0, at);
    const std::size_t end = rest.find("}}", at);
    const std::string_view what = rest.substr(at + 2, end - at - 2);
    if (what == "TITLE")
      for (const char c : title) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    if (what == "CSP")
      out += "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src " +
             script_source();
    if (what == "STYLE") out += files_ending_in(".css");
    if (what == "SCRIPT") out += files_ending_in(".js");
    if (what == "TAPE") out += tape_element(json);
    rest.remove_prefix(end + 2);
  }
  return out += rest;
}

/// An operation is a struct whose name() says what it is called; it ends with "};" at the margin.
Json definitions(const std::vector<std::string>& ops) {
  const std::set<std::string> wanted(ops.begin(), ops.end());
  std::map<std::string, Json> found;
  for (std::size_t i = 0; i < kOpsFiles; ++i) {
    Definition block;
    std::istringstream text(kOps[i].text);
    Id number = 0;
    for (std::string line; std::getline(text, line);) {
      ++number;
      if (line.starts_with("struct ")) block = {kOps[i].path, number};
      block.take(line, number);
      if (line != "};") continue;
      for (const std::string& name : block.names)
        if (wanted.contains(name)) found.try_emplace(name, block.json());
      block = {};
    }
  }
  Json out{"{"};
  for (const auto& [name, json] : found) {
    put(out.text += out.text.size() > 1 ? "," : "", name);
    out.text += ':' + json.text;
  }
  return {out.text + "}"};
}

}  // namespace gradus::trace
