// Prints reports for CI, where they appear at a line of code: SARIF 2.1.0 and GitHub's annotations.
#pragma once

#include "gradus/check/raw/report.h"

namespace gradus::check {

/// JSON that object() inserts unchanged.
struct Json {
  std::string text;
};
inline std::string json_of(const Json& json) { return json.text; }

/// Returns the path relative to the checkout, which GitHub requires, if the file is inside.
inline std::string in_workspace(const std::string& file) {
  const char* workspace = std::getenv("GITHUB_WORKSPACE");
  const std::string root = workspace ? workspace + std::string("/") : "";
  const bool inside = root.size() > 1 && file.compare(0, root.size(), root) == 0;
  return inside ? file.substr(root.size()) : file;
}

/// Returns the URI of a file: a relative path stays relative.
inline std::string uri_of(const std::string& file) {
  static const std::string kept = "-._~/:", hex = "0123456789ABCDEF";
  const bool drive = file.size() > 1 && file[1] == ':';
  std::string result = drive ? "file:///" : file.rfind('/', 0) == 0 ? "file://" : "";
  for (const char c : file) {
    const auto code = static_cast<unsigned char>(c);
    const bool letter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (c == '\\')
      result += '/';
    else if (letter || kept.find(c) != std::string::npos)
      result += c;
    else
      result += {'%', hex[code >> 4U], hex[code & 15U]};
  }
  return result;
}

/// Returns the cause of the first finding, or an empty one.
inline Cause first_cause(const Report& report) {
  const std::size_t k = report.findings.empty() ? 0 : report.findings[0].input;
  return k < report.inputs.size() ? report.inputs[k].cause : Cause();
}

/// Returns the headline and the cause, one per line.
inline std::string message_of(const Report& report) {
  const Cause cause = first_cause(report);
  std::string result = report.name + ": " + report.headline();
  if (!cause.name.empty()) result += "\nlikely cause: " + cause.name + " - " + cause.why;
  if (!cause.hint.empty()) result += "\nhint: " + cause.hint;
  return result;
}

/// Returns "missing-term" for the cause MISSING TERM.
inline std::string rule_of(const Report& report) {
  std::string result = first_cause(report).name;
  if (result.empty()) result = report.verdict == Verdict::fail ? "WRONG GRADIENT" : "NOT MEASURED";
  for (char& c : result) c = c == ' ' ? '-' : static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return result;
}

inline Json text_object(const std::string& text) { return {object("text", text)}; }

/// Returns a rule with the members that GitHub requires.
inline Json sarif_rule(const std::string& id) {
  return {object("id", id, "shortDescription", text_object("gradient check: " + id),
                 "fullDescription", text_object("A gradient differs from finite differences."),
                 "help", text_object("docs/checking/causes.md explains the causes."))};
}

inline Json sarif_result(const Report& report) {
  std::vector<Json> locations;
  if (!report.place.file.empty()) {
    const Json file{object("uri", uri_of(in_workspace(report.place.file)))};
    const Json region{object("startLine", std::max(report.place.line, 1))};
    const Json physical{object("artifactLocation", file, "region", region)};
    locations.push_back({object("physicalLocation", physical)});
  }
  const std::string level = report.verdict == Verdict::fail ? "error" : "warning";
  return {object("ruleId", rule_of(report), "level", level, "message",
                 text_object(message_of(report)), "locations", locations)};
}

GRADUS_CHECK_INLINE std::string sarif(const std::vector<Report>& reports) {
  std::vector<std::string> ids;
  std::vector<Json> rules, results;
  for (const Report& report : reports) {
    if (report) continue;
    results.push_back(sarif_result(report));
    const std::string id = rule_of(report);
    if (std::find(ids.begin(), ids.end(), id) != ids.end()) continue;
    ids.push_back(id);
    rules.push_back(sarif_rule(id));
  }
  const Json driver{object("name", "gradus-check", "rules", rules)};
  const Json run{object("tool", Json{object("driver", driver)}, "results", results)};
  return object("$schema", "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0",
                "runs", std::vector<Json>{run}) +
         "\n";
}

GRADUS_CHECK_INLINE std::string Report::sarif() const { return check::sarif({*this}); }

/// Escapes text for a workflow command. A property, unlike a message, also ends at ':' and ','.
inline std::string escaped_for_github(const std::string& text, bool property) {
  std::string result;
  for (const char c : text) {
    const bool ends = property && (c == ':' || c == ',');
    result += c == '%'    ? "%25"
              : c == '\r' ? "%0D"
              : c == '\n' ? "%0A"
              : ends      ? (c == ':' ? "%3A" : "%2C")
                          : std::string(1, c);
  }
  return result;
}

GRADUS_CHECK_INLINE std::string Report::annotation() const {
  if (verdict == Verdict::pass) return "";
  std::string result = verdict == Verdict::fail ? "::error " : "::warning ";
  if (!place.file.empty())
    result += "file=" + escaped_for_github(in_workspace(place.file), true) +
              joined(",line=", std::max(place.line, 1), ",");
  return result + "title=" + escaped_for_github(joined("GRADCHECK ", to_string(verdict)), true) +
         "::" + escaped_for_github(message_of(*this), false) + "\n";
}

}  // namespace gradus::check
