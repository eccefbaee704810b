// A recursive-descent parser with one function per rule.
#include "gradus/tests/derivations/notation.h"

#include <cctype>
#include <cstdlib>
#include <set>
#include <utility>

namespace gradus::derivations {
namespace {

const std::set<std::string> kFunctions = {"exp", "log",   "sin",   "cos",  "tanh", "erf",  "max",
                                          "min", "floor", "round", "sign", "σ",    "const"};
const std::set<std::string> kReductions = {"Σ", "Π", "max", "min"};
const std::set<std::string> kRelations = {"=", "≠", "<", ">", "≤", "≥"};

/// Returns the length of a UTF-8 character in bytes.
std::size_t width(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t n = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  return std::min(n, text.size() - at);
}

bool is_combining(std::string_view c) { return c.size() == 2 && c >= "\u0300" && c < "\u0370"; }

bool is_letter(std::string_view c) {
  if (c.size() == 1) return std::isalpha(static_cast<unsigned char>(c[0])) != 0;
  return c.size() == 2 && c >= "Α" && c <= "ω" && c != "Σ" && c != "Π" && c != "δ";
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Expression whole() {
    Expression e = sum();
    blanks();
    if (at_ < text_.size()) reject("unexpected text");
    return e;
  }

 private:
  std::string peek() {
    blanks();
    return character();
  }
  std::string character() const {
    return at_ < text_.size() ? std::string(text_.substr(at_, width(text_, at_))) : std::string();
  }
  void blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view token) {
    blanks();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void want(std::string_view token) {
    if (!take(token)) reject("'" + std::string(token) + "' is missing");
  }
  [[noreturn]] void reject(const std::string& why) const {
    throw NotationError("\"" + std::string(text_) + "\", before \"" +
                        std::string(text_.substr(std::min(at_, text_.size()))) + "\": " + why);
  }

  Expression sum() {
    Expression e{.kind = Kind::sum};
    int sign = take("−") || take("-") ? -1 : 1;
    while (true) {
      e.children.push_back(term());
      e.signs.push_back(sign);
      if (take("+"))
        sign = 1;
      else if (take("−") || take("-"))
        sign = -1;
      else
        break;
    }
    return e.children.size() == 1 && e.signs[0] == 1 ? std::move(e.children[0]) : e;
  }

  Expression term() {
    Expression e{.kind = Kind::product, .text = "*", .children = {factor()}};
    while (true) {
      if (take("·")) {
        e.text += '*';
      } else if (take("⊙")) {
        e.text += 'o';
      } else if (take("/")) {
        e.text += '/';
      } else if (starts_factor()) {
        if (e.text.back() == '/') reject("a product after a division must be written with a dot");
        e.text += '*';
      } else {
        break;
      }
      e.children.push_back(factor());
    }
    return e.children.size() == 1 ? std::move(e.children[0]) : e;
  }

  bool starts_factor() {
    const std::string c = peek();
    if (c == "|") return bars_ == 0;
    return c == "(" || c == "[" || c == "½" || c == "√" || c == "∂" || c == "δ" || c == "Σ" ||
           c == "Π" || c == "π" || (c.size() == 1 && std::isdigit(c[0])) ||
           (!c.empty() && is_letter(c));
  }

  Expression factor() {
    const std::string c = peek();
    const std::size_t start = at_;
    std::string word = name();
    if (c == "Σ" || c == "Π") at_ += (word = c).size();
    if (!kReductions.count(word) || character() != "_") {
      at_ = start;
      return power();
    }
    ++at_;
    Expression e{.kind = Kind::reduce, .text = word};
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])))
      e.letters += text_[at_++];
    if (e.letters.empty()) reject("missing letters under the sum or maximum");
    e.children.push_back(term());
    return e;
  }

  Expression power() {
    Expression base = postfix();
    Expression exponent{.number = 0};
    if (take("²"))
      exponent.number = 2;
    else if (take("³"))
      exponent.number = 3;
    else if (take("⁻¹"))
      exponent.number = -1;
    else if (take("^"))
      exponent = postfix();
    else
      return base;
    return {.kind = Kind::power, .children = {std::move(base), std::move(exponent)}};
  }

  Expression postfix() {
    Expression e = primary();
    while (true) {
      if (text_.substr(at_, 3) == "ᵀ") {
        at_ += 3;
        e = {.kind = Kind::transpose, .children = {std::move(e)}};
      } else if (character() == "_") {
        std::vector<Expression> places = subscript();
        e = {.kind = Kind::element, .children = {std::move(e)}};
        for (Expression& place : places) e.children.push_back(std::move(place));
      } else {
        return e;
      }
    }
  }

  std::vector<Expression> subscript() {
    std::vector<Expression> places;
    ++at_;  // skips "_"
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '{') {
        ++at_;
        Expression computed{.kind = Kind::sum, .signs = {1}};
        computed.children.push_back(closed("}"));
        places.push_back(std::move(computed));
      } else if (std::isalpha(static_cast<unsigned char>(c))) {
        places.push_back({.kind = Kind::name, .text = std::string(1, c)});
        ++at_;
      } else if (std::isdigit(static_cast<unsigned char>(c))) {
        places.push_back({.number = static_cast<double>(c - '0')});
        ++at_;
      } else {
        break;
      }
    }
    if (places.empty()) reject("an empty subscript");
    return places;
  }

  /// Parses letters with their combining marks. The result may be empty.
  std::string name() {
    blanks();
    std::string word;
    while (at_ < text_.size()) {
      const std::string c = character();
      if (!(is_letter(c) || (!word.empty() && is_combining(c)))) break;
      word += c;
      at_ += c.size();
    }
    return word;
  }

  Expression primary() {
    if (take("(")) return closed(")");
    if (take("|")) return absolute();
    if (take("[")) return relation();
    if (take("½")) return {.number = 0.5};
    if (take("π")) return {.number = 3.141592653589793};
    if (take("√")) return {.kind = Kind::function, .text = "√", .children = {postfix()}};
    if (take("∂")) return derivative();
    if (take("δ")) return delta();
    const std::string c = peek();
    if (c.size() == 1 && std::isdigit(static_cast<unsigned char>(c[0]))) return number();
    std::string word = name();
    if (word.empty()) reject("expected a number, a name or a bracket");
    if (kFunctions.count(word) && character() == "(") return function(std::move(word));
    Expression e{.kind = Kind::name, .text = std::move(word)};
    if (character() == "_") e.children = subscript();
    return e;
  }

  Expression closed(std::string_view bracket) {
    const int outer = std::exchange(bars_, 0);
    Expression e = sum();
    bars_ = outer;
    want(bracket);
    return e;
  }

  Expression absolute() {
    ++bars_;
    Expression e{.kind = Kind::function, .text = "abs", .children = {sum()}};
    want("|");
    --bars_;
    return e;
  }

  Expression relation() {
    Expression left = sum();
    const std::string sign = peek();
    if (!kRelations.count(sign)) reject("[ ] must contain a comparison");
    at_ += sign.size();
    return {.kind = Kind::relation, .text = sign, .children = {std::move(left), closed("]")}};
  }

  Expression delta() {
    Expression e{.kind = Kind::delta, .children = subscript()};
    if (e.children.size() != 2) reject("δ must have two indices");
    return e;
  }

  Expression derivative() {
    Expression of = postfix();
    want("/");
    want("∂");
    Expression by{.kind = Kind::name, .text = name()};
    if (character() == "_") by.children = subscript();
    return {.kind = Kind::derivative, .children = {std::move(of), std::move(by)}};
  }

  Expression function(std::string word) {
    want("(");
    Expression e{.kind = Kind::function, .text = std::move(word)};
    const int outer = std::exchange(bars_, 0);
    do {
      e.children.push_back(sum());
    } while (take(","));
    bars_ = outer;
    want(")");
    return e;
  }

  Expression number() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) ||
                                  (text_[at_] == '.' && at_ > start)))
      ++at_;
    return {.number = std::strtod(std::string(text_.substr(start, at_ - start)).c_str(), nullptr)};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int bars_ = 0;  // number of open |
};

std::string spell_all(const Expression& e, std::size_t first, const char* between) {
  std::string out;
  for (std::size_t i = first; i < e.children.size(); ++i)
    out += (i > first ? between : "") + spell(e.children[i]);
  return out;
}

std::string places(const Expression& e, std::size_t first) {
  std::string out;
  for (std::size_t i = first; i < e.children.size(); ++i) {
    const std::string one = spell(e.children[i]);
    out += one.size() == 1 ? one : "{" + one + "}";
  }
  return out.empty() ? out : "_" + out;
}

std::string spell_sum(const Expression& e) {
  std::string out = "(";
  for (std::size_t i = 0; i < e.children.size(); ++i)
    out += std::string(i ? " " : "") +
           (e.signs[i] < 0 ? "− "
            : i            ? "+ "
                           : "") +
           spell(e.children[i]);
  return out + ")";
}

std::string spell_product(const Expression& e) {
  std::string out = "(" + spell(e.children[0]);
  for (std::size_t i = 1; i < e.children.size(); ++i)
    out += (e.text[i] == '*' ? " · " : e.text[i] == 'o' ? " ⊙ " : " / ") + spell(e.children[i]);
  return out + ")";
}

std::string spell_number(double x) {
  std::string out = std::to_string(x);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

}  // namespace

Expression parse(std::string_view text) { return Reader(text).whole(); }

std::string spell(const Expression& e) {
  switch (e.kind) {
    case Kind::number:
      return spell_number(e.number);
    case Kind::name:
      return e.text + places(e, 0);
    case Kind::sum:
      return spell_sum(e);
    case Kind::product:
      return spell_product(e);
    case Kind::power:
      return spell(e.children[0]) + "^(" + spell(e.children[1]) + ")";
    case Kind::transpose:
      return spell(e.children[0]) + "ᵀ";
    case Kind::element:
      return spell(e.children[0]) + places(e, 1);
    case Kind::function:
      return e.text + "(" + spell_all(e, 0, ", ") + ")";
    case Kind::reduce:
      return e.text + "_" + e.letters + " " + spell(e.children[0]);
    case Kind::relation:
      return "[" + spell_all(e, 0, (" " + e.text + " ").c_str()) + "]";
    case Kind::delta:
      return "δ" + places(e, 0);
    case Kind::derivative:
      return "∂" + spell_all(e, 0, "/∂");
  }
  return {};
}

}  // namespace gradus::derivations
