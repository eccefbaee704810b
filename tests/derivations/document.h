// A file of docs/derivations, as it is read by a program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gradus/tests/derivations/notation.h"

namespace gradus::derivations {

/// `left = text  ⟵ reason`, or a definition, which has no reason.
struct Line {
  int number = 0;         // in the file, from 1
  std::string left = {};  // "dx_ri"; of a line that goes on with "=", that of the line before
  std::string text = {}, reason = {};
  Expression right = {};
  bool defines() const { return reason.empty(); }
  std::string name() const { return left.substr(0, left.find('_')); }
};

/// Where the code is: a file of the tree, and text that stands in it once or more.
struct Anchor {
  std::string file, text;
};

struct Document {
  std::string name;  // the heading
  std::vector<Line> lines;
  std::vector<Anchor> anchors;
};

/// NotationError names the file and line of what cannot be read.
Document read_document(const std::string& text, const std::string& file);

/// All of docs/derivations, by name of the file without ".md", sorted.
std::vector<std::pair<std::string, Document>> all_documents();

}  // namespace gradus::derivations
