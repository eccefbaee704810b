// Reads derivations from files and derives einsum: the gradient of an operand is the product of dy
// and the other operand, summed down to the operand's letters.
#include "gradus/trace/derive.h"

#include "gradus/engine/base/error.h"

namespace gradus {
namespace {

bool in(std::string_view letters, char c) { return letters.find(c) != std::string_view::npos; }

struct Formula {
  std::vector<std::string> operands;
  std::string result;
};

Formula parse(std::string_view given) {
  std::string spelled(given);
  std::erase(spelled, ' ');
  const std::size_t arrow = spelled.find("->");
  Formula out{{""}, spelled.substr(arrow + 2)};
  for (const char c : spelled.substr(0, arrow))
    if (c == ',')
      out.operands.emplace_back();
    else
      out.operands.back() += c;
  require(out.operands.size() <= 2, "derive: \"", given, "\" must have one or two operands, got ",
          out.operands.size());
  std::vector<std::string> terms = out.operands;
  terms.push_back(out.result);
  for (const std::string& term : terms)
    for (std::size_t i = 0; i < term.size(); ++i)
      require((term[i] | 32) >= 'a' && (term[i] | 32) <= 'z' && !in(term.substr(i + 1), term[i]),
              "derive: '", term[i], "' in \"", given, "\" is not a letter or appears twice in a ",
              "term. Use a different letter for each axis, also in place of \"...\".");
  for (const char c : out.result)
    require(in(out.operands.front() + out.operands.back(), c), "derive: '", c,
            "' in the result does not appear in an operand of \"", given,
            "\". Use letters of the operands.");
  return out;
}

/// Returns one letter outside `taken` for each letter of `like`, in the opposite case if possible.
std::string fresh(const std::string& like, std::string taken) {
  std::string out;
  for (const char letter : like) {
    char other = static_cast<char>(letter ^ 32);
    for (int i = 0; in(taken, other) && i < 26; ++i) other = static_cast<char>('A' + i);
    for (int i = 0; in(taken, other) && i < 26; ++i) other = static_cast<char>('a' + i);
    require(!in(taken, other), "derive: no letters are left for summation. Use fewer letters.");
    out += other;
    taken += other;
  }
  return out;
}

std::string place(const char* name, const std::string& letters) {
  return letters.empty() ? name : std::string(name) + "_" + letters;
}

/// Returns "Σ_ij " over the letters of `have` that are not in `left`.
std::string sum_over(const std::string& have, const std::string& left) {
  std::string over;
  for (const char c : have)
    if (!in(left, c) && !in(over, c)) over += c;
  return over.empty() ? over : "Σ_" + over + " ";
}

/// Returns the lines of one operand. Appends an einsum call to `code`.
std::string gradient(const Formula& f, std::size_t which, const std::string& all,
                     std::string& code) {
  const char* names[] = {"a", "b"};
  const bool two = f.operands.size() == 2;
  const std::string &own = f.operands[which], elsewhere = fresh(f.result, all);
  const std::string others = two ? f.operands[1 - which] : "", self = place(names[which], own);
  const std::string factor = two ? " " + place(names[1 - which], others) : "";
  std::string kept, repeated;
  for (const char c : own) (in(f.result + others, c) ? kept : repeated) += c;
  code += std::string("Call: d") + names[which] + " = einsum(\"" + f.result +
          (two ? "," + others : "") + "->" + kept + "\", dy" +
          (two ? std::string(", ") + names[1 - which] : "") + ")" +
          (repeated.empty() ? "" : ", repeated along " + repeated) + "\n";
  return "d" + self + " = " + sum_over(elsewhere, "") + place("dy", elsewhere) + " ∂" +
         place("y", elsewhere) + "/∂" + self + "  ⟵ definition of the gradient\n" + "d" + self +
         " = " + sum_over(f.result + others, own) + place("dy", f.result) + factor + "  ⟵ " + self +
         " is in each " + place("y", f.result) + (two ? ", with the factor" + factor : "") + "\n";
}

std::string derive_einsum(std::string_view formula) {
  const Formula f = parse(formula);
  std::string all = f.result, code;
  for (const std::string& each : f.operands) all += each;
  std::string out = "# einsum \"" + std::string(formula) + "\"\n\n```text\n" +
                    place("y", f.result) + " = " + sum_over(all, f.result) +
                    place("a", f.operands[0]) +
                    (f.operands.size() == 2 ? " " + place("b", f.operands[1]) : "") + "\n\n";
  for (std::size_t i = 0; i < f.operands.size(); ++i) out += gradient(f, i, all, code);
  return out + "```\n\n" + code;
}

}  // namespace

std::string derivation(std::string_view name) {
  for (std::size_t i = 0; i < trace::kDerivationCount; ++i)
    if (trace::kDerivations[i].name == name) return trace::kDerivations[i].text;
  return {};
}

std::vector<std::string> derivation_names() {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < trace::kDerivationCount; ++i)
    out.emplace_back(trace::kDerivations[i].name);
  return out;
}

std::string derive(std::string_view what) {
  if (what.find("->") != std::string_view::npos) return derive_einsum(what);
  std::string text = derivation(what);
  if (!text.empty()) return text;
  std::string similar;
  for (const std::string& name : derivation_names())
    if (name.substr(0, 1) == what.substr(0, 1)) similar += (similar.empty() ? "" : ", ") + name;
  fail<ValueError>("derive: no derivation of \"", what, "\". Give the name of an op",
                   similar.empty() ? "" : " (" + similar + ")",
                   " or an einsum formula such as \"ik,kj->ij\".");
}

}  // namespace gradus
