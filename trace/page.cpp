// Inserts style, script and tape into trace/viewer/page.html.
#include <cstdio>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/io/crc32.h"
#include "gradus/io/pieces.h"
#include "gradus/io/text.h"
#include "gradus/trace/derive.h"
#include "gradus/trace/embedded.h"
#include "gradus/trace/json.h"
#include "gradus/trace/places.h"
#include "gradus/trace/recorder.h"

namespace gradus::trace {
namespace {

/// Returns a hash for the Content-Security-Policy.
std::string policy_hash(const char* hexadecimal) {
  std::string bytes;
  for (const char* at = hexadecimal; *at; at += 2)
    bytes += static_cast<char>(std::stoi(std::string(at, 2), nullptr, 16));
  return base64(bytes);
}

std::string files_ending_in(std::string_view end) {
  std::string out;
  for (const EmbeddedFile& each : std::span<const EmbeddedFile>(kViewer, kViewerFiles))
    if (std::string_view(each.path).ends_with(end)) out += std::string(each.text) + "\n";
  return out;
}

/// Returns the formulas of a derivation, one per line.
std::vector<std::string> derivation_lines(const std::string& name) {
  std::vector<std::string> out;
  bool inside = false;
  for (const std::string& line : io::split_text(derivation(name), '\n'))
    if (line.starts_with("```"))
      inside = !inside;
    else if (inside && !line.empty())
      out.push_back(line);
  return out;
}

struct Definition {
  std::string file = {};
  Id first = kNone, forward = kNone, backward = kNone;
  std::vector<std::string> lines = {}, names = {};

  void take(const std::string& line, Id number) {
    lines.push_back(line);
    if (forward == kNone && line.find(" forward(") != std::string::npos) forward = number;
    if (backward == kNone && line.find(" backward(") != std::string::npos) backward = number;
    if (line.find(" name() const override") == std::string::npos) return;
    for (std::size_t at = line.find('"'); at != std::string::npos; at = line.find('"', at + 1)) {
      const std::size_t end = line.find('"', at + 1);
      names.push_back(line.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  Json json(const std::string& name) const {
    return object("file", file, "first", first, "forward", forward, "backward", backward, "lines",
                  lines, "derivation", derivation_lines(name));
  }
};

}  // namespace

std::string page(const std::string& title, const std::string& json) {
  char sum[9];
  std::snprintf(sum, sizeof sum, "%08x", io::crc32(json.data(), json.size()));
  const std::map<std::string, std::string> parts{{"TITLE", io::escape_xml(title)},
                                                 {"STYLE", files_ending_in(".css")},
                                                 {"SCRIPTHASH", policy_hash(kScriptSha256)},
                                                 {"STYLEHASH", policy_hash(kStyleSha256)},
                                                 {"CRC32", sum},
                                                 {"SCRIPT", files_ending_in(".js")},
                                                 {"PAYLOAD", json},
                                                 {"OTHER", ""}};
  std::string out;
  bool named = false;  // every second piece is a name
  for (const std::string& piece : io::split_text(kViewer[0].text, '@')) {
    out += named ? parts.at(piece) : piece;
    named = !named;
  }
  return out;
}

/// Finds the source lines of ops. An op is a struct with name() that ends with "};" in column 0.
std::map<std::string, Json> definitions(const std::set<std::string>& ops) {
  std::map<std::string, Json> found;
  for (const EmbeddedFile& each : std::span<const EmbeddedFile>(kOps, kOpsFiles)) {
    Definition block;
    Id number = 0;
    for (const std::string& line : io::split_text(each.text, '\n')) {
      ++number;
      if (line.starts_with("struct ")) block = {each.path, number};
      block.take(line, number);
      if (line != "};") continue;
      for (const std::string& name : block.names)
        if (ops.contains(name)) found.try_emplace(name, block.json(name));
      block = {};
    }
  }
  return found;
}

std::string attention_page(const std::string& title,
                           const std::vector<nn::AttentionRecord::Entry>& maps,
                           const std::vector<std::string>& queries,
                           const std::vector<std::string>& keys) {
  require<ValueError>(!maps.empty(),
                      "attention_page: no attention was recorded. Run the model first.");
  Tape tape(kMostBytes);
  tape.labels = {{"T", queries}, {"S", keys}};
  for (const nn::AttentionRecord::Entry& each : maps) {
    const Shape& shape = each.weights.shape();
    require<ValueError>(
        shape.rank() == 4 && shape[2] == std::ssize(queries) && shape[3] == std::ssize(keys),
        "attention_page: the weights of ", each.layer, " must be [B, H, ", queries.size(), ", ",
        keys.size(), "] for the given names of queries and keys, got ", shape);
    const Id layer = tape.add_module({each.layer, "attention", kNone});
    tape.attention.push_back({{"op", kNone}, {"module", layer}});
    tape.add_matrix(tape.attention.back(), "weights", each.weights);
  }
  return page(title, tape.json(title, program_name(), kNone));
}

}  // namespace gradus::trace
