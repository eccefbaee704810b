#include "gradus/examples/exercises/hints.h"

#include <sstream>

#include "gradus/trace/derive.h"

namespace gradus::exercises {

std::string hint(const std::string& name, int level) {
  const std::string text = derivation(name);
  if (level == 3) return text;
  if (level != 1 && level != 2) return {};
  std::istringstream lines(text);
  std::string out;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t arrow = line.find("⟵");
    if (line.rfind("```", 0) == 0)
      inside = !inside;
    else if (inside && level == 2 && arrow != std::string::npos)
      out += "-" + line.substr(arrow + std::string("⟵").size()) + "\n";
    else if (inside && level == 1 && (arrow == std::string::npos || line.find("∂") < arrow))
      out += line + "\n";
    if (level == 1 && arrow != std::string::npos && line.find("definition") > arrow) break;
  }
  return out;
}

}  // namespace gradus::exercises
