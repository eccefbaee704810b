#include "gradus/tests/support/operations.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

namespace gradus::testing {
namespace {

std::vector<std::string> between_quotes(const std::string& line) {
  std::vector<std::string> found;
  std::size_t open = line.find('"');
  while (open != std::string::npos) {
    const std::size_t close = line.find('"', open + 1);
    if (close == std::string::npos) break;
    found.push_back(line.substr(open + 1, close - open - 1));
    open = line.find('"', close + 1);
  }
  return found;
}

}  // namespace

std::vector<Operation> operations(std::istream& source, const std::string& file) {
  std::vector<Operation> found;
  std::map<std::string, Operation> skeletons;
  bool inside = false;
  std::string before, skeleton;
  for (std::string line; std::getline(source, line); before = line) {
    if (line.rfind("struct ", 0) == 0 && line.find(" : ") != std::string::npos) {
      const std::string name = line.substr(7, line.find(' ', 7) - 7);
      const std::string base = line.substr(line.find(" : ") + 3);
      found.push_back({name + " in " + file, {}, false, {}});
      if (const auto at = skeletons.find(base.substr(0, base.find('<'))); at != skeletons.end()) {
        found.back().differentiable = at->second.differentiable;
        found.back().needs_grad_calls = at->second.needs_grad_calls;
      }
      skeleton = before.rfind("template ", 0) == 0 ? name : "";
      inside = true;
    }
    if (line == "};" && inside && !skeleton.empty()) {
      skeletons[skeleton] = found.back();
      found.pop_back();
    }
    if (line == "};") inside = false;
    if (!inside) continue;
    if (line.find(" name() const override") != std::string::npos)
      for (std::string& name : between_quotes(line)) found.back().names.push_back(std::move(name));
    if (line.find("Gradients backward(") != std::string::npos) found.back().differentiable = true;
    const std::string question = "needs_grad(";
    for (std::size_t at = line.find(question); at != std::string::npos;
         at = line.find(question, at + 1)) {
      const char index = line[at + question.size()];
      if (std::isdigit(static_cast<unsigned char>(index)))
        found.back().needs_grad_calls.insert(index - '0');
    }
  }
  return found;
}

std::vector<Operation> all_operations(const std::vector<std::string>& folders) {
  std::vector<Operation> all;
  for (const std::string& folder : folders)
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(GRADUS_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".cpp") continue;
      std::ifstream source(entry.path());
      for (Operation& op : operations(source, entry.path().filename().string()))
        all.push_back(std::move(op));
    }
  return all;
}

}  // namespace gradus::testing
