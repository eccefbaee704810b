// Weininger 1988: consecutive atoms are bonded, "(" and ")" enclose a branch, and equal digits
// close a ring.
#include "smiles.h"

#include <cctype>
#include <map>

#include "gradus/engine/base/error.h"

namespace gradus::examples {
namespace {

/// Returns the length of the token at `at`, or 0 if there is none.
std::size_t token_length(const std::string& text, std::size_t at) {
  const auto next_is = [&](char c) { return at + 1 < text.size() && text[at + 1] == c; };
  const auto digit = [&](std::size_t i) {
    return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0;
  };
  const char c = text[at];
  if (c == '[') {
    const std::size_t close = text.find(']', at);
    return close == std::string::npos || close == at + 1 ? 0 : close - at + 1;
  }
  if (c == 'B') return next_is('r') ? 2 : 1;
  if (c == 'C') return next_is('l') ? 2 : 1;
  if (c == '>') return next_is('>') ? 2 : 1;
  if (c == '%') return digit(at + 1) && digit(at + 2) ? 3 : 0;
  return std::string("NOSPFIbcnosp().=#-+\\/:~@?*$0123456789").find(c) != std::string::npos;
}

bool is_atom(const std::string& token) {
  return std::isalpha(static_cast<unsigned char>(token[0])) != 0 || token[0] == '[' ||
         token[0] == '*';
}

/// Returns the element of an atom: "[13cH2:1]" and "c" are both carbon.
std::string element_of(const std::string& token) {
  std::size_t at = token[0] == '[' ? 1 : 0;
  while (at < token.size() && std::isdigit(static_cast<unsigned char>(token[at])) != 0) ++at;
  std::string element;
  for (; at < token.size() && std::isalpha(static_cast<unsigned char>(token[at])) != 0; ++at) {
    const bool upper = std::isupper(static_cast<unsigned char>(token[at])) != 0;
    if (!element.empty() && (upper || token[0] != '[')) break;
    element += token[at];
  }
  if (token[0] != '[' && token.size() == 2) return token;  // Cl, Br
  if (!element.empty())
    element[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(element[0])));
  return element.empty() ? "*" : element;
}

/// Derives the bonds from the order of the tokens.
class Bonds {
 public:
  explicit Bonds(Reaction& reaction) : reaction_(reaction) {}

  void atom(std::int64_t number) {
    if (previous_ >= 0) join(previous_, number);
    previous_ = number;
  }
  void token(const std::string& token) {
    if (token == "(") {
      branches_.push_back(previous_);
    } else if (token == ")") {
      require(!branches_.empty(), "SMILES: a \")\" has no \"(\"");
      previous_ = branches_.back();
      branches_.pop_back();
    } else if (token == "." || token == ">>") {
      end();
    } else if (token[0] == '%' || std::isdigit(static_cast<unsigned char>(token[0])) != 0) {
      ring(token[0] == '%' ? token.substr(1) : token);
    }
  }
  void end() {
    require(branches_.empty(), "SMILES: a \"(\" has no \")\"");
    require(rings_.empty(), "SMILES: ring ", rings_.empty() ? "" : rings_.begin()->first,
            " is not closed; write its number twice");
    previous_ = -1;
  }

 private:
  void join(std::int64_t a, std::int64_t b) {
    reaction_.neighbours[static_cast<std::size_t>(a)].push_back(b);
    reaction_.neighbours[static_cast<std::size_t>(b)].push_back(a);
  }
  void ring(const std::string& number) {
    require(previous_ >= 0, "SMILES: ring ", number,
            " begins before any atom; write its number after an atom");
    const auto open = rings_.find(number);
    if (open == rings_.end()) {
      rings_[number] = previous_;
      return;
    }
    join(open->second, previous_);
    rings_.erase(open);
  }
  Reaction& reaction_;
  std::int64_t previous_ = -1;
  std::vector<std::int64_t> branches_;
  std::map<std::string, std::int64_t> rings_;
};

}  // namespace

Reaction read_reaction(const std::string& text) {
  Reaction reaction;
  Bonds bonds(reaction);
  std::int64_t arrows = 0;
  for (std::size_t at = 0; at < text.size(); at += reaction.tokens.back().size()) {
    const std::size_t length = token_length(text, at);
    require(length > 0, "SMILES: \"", text.substr(at, 8), "\" at character ", at + 1,
            " is not an atom, bond or ring");
    reaction.tokens.push_back(text.substr(at, length));
    const std::string& token = reaction.tokens.back();
    reaction.atoms.push_back(is_atom(token) ? std::ssize(reaction.element) : -1);
    if (token == ">>") {
      ++arrows;
      reaction.split = std::ssize(reaction.tokens) - 1;
      reaction.reactant_atoms = std::ssize(reaction.element);
    }
    if (is_atom(token)) {
      reaction.element.push_back(element_of(token));
      reaction.neighbours.emplace_back();
      bonds.atom(reaction.atoms.back());
    } else {
      bonds.token(token);
    }
  }
  bonds.end();
  require(arrows == 1 && reaction.reactant_atoms > 0 &&
              reaction.reactant_atoms < std::ssize(reaction.element),
          "a reaction must be REACTANTS>>PRODUCTS, with atoms on both sides of one \">>\", got ",
          text);
  return reaction;
}

}  // namespace gradus::examples
