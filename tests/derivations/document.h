// Parses the files of docs/derivations.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gradus/tests/derivations/notation.h"

namespace gradus::derivations {

/// A line `left = text  ⟵ reason`. A definition has no reason.
struct Line {
  int number = 0;         // line number in the file, from 1
  std::string left = {};  // "dx_ri"; if the line starts with "=", left side of the previous line
  std::string text = {}, reason = {};
  Expression right = {};
  bool defines() const { return reason.empty(); }
  std::string name() const { return left.substr(0, left.find('_')); }
};

/// A file, and a text that must occur in it.
struct Anchor {
  std::string file, text;
};

struct Document {
  std::string name;  // the heading
  std::vector<Line> lines;
  std::vector<Anchor> anchors;
};

/// Throws NotationError, whose message contains the file and line.
Document read_document(const std::string& text, const std::string& file);

/// Returns all documents, sorted by file name without ".md".
std::vector<std::pair<std::string, Document>> all_documents();

}  // namespace gradus::derivations
