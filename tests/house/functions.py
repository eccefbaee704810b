#!/usr/bin/env python3
"""Functions take at most 7 parameters, and no comma operator stands outside a `for`.

  functions.py            looks at the whole tree; exit code 1, and a line for each fault
  functions.py --itself   looks at samples of both

It reads text, not C++: what clang-format writes. So `<` opens a template's arguments where no blank
stands before it, and `{` a block where one does.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["base", "engine", "ops", "nn", "models", "train", "io", "trace", "check", "examples"]
MOST = 7
NOISE = re.compile(r'''R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'|//[^\n]*'''
                   r"|^[ ]*#(?:[^\n]*\\\n)*[^\n]*", re.S | re.M)
PARAMETER = re.compile(r"(?:const |unsigned |typename )*[A-Za-z_][\w:]*(?:<>)?(?:\.\.\.)?[ &*]+\w+(?:\[\])*(?: = .*)?$")
DECLARATION = re.compile(r"(?:(?:static|constexpr|const|inline|extern|mutable|thread_local|unsigned|volatile) )*"
                         r"[\w:]+(?:<>)?(?:::\w+)*(?: const)?[ *&]+\w+")
NOT_TYPES = {"return", "throw", "delete", "else", "goto", "case", "new", "co_return", "not"}
HEADS = re.compile(r"(?:(?:else )?(?:if(?: constexpr)?|while|switch|for) ?\(\)|else|do|(?:case [^:]+|default|public"
                   r"|private|protected):|\[\[\]\]) ?")
PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
REMEDY = {"parameters": f"more than {MOST} parameters: give those that belong together a struct, or split the function",
          "comma": "a comma operator: write two statements, or a function that does both"}


def bare(text):
    """The text without comments, preprocessor lines and literals; every line stays where it is."""
    def blank(match):
        found = match.group()
        return ("" if found.lstrip()[:1] in "/#" else "0") + "\n" * found.count("\n")
    return NOISE.sub(blank, text)


class Bracket:
    def __init__(self, kind, begin):
        self.kind, self.begin = kind, begin  # kind: ( for [ { block enum <
        self.statement = begin + 1           # where the statement begins that we are in
        self.commas = []
        self.text = ""                       # since the statement began, inner brackets without what is in them


def opening(text, at, before, outer):
    """What kind of bracket opens here; None: it is none."""
    c = text[at]
    word = re.search(r"(\w+)\s*$", before)
    word = word.group(1) if word else ""
    tight = at > 0 and (text[at - 1].isalnum() or text[at - 1] in "_])")
    if c == "<":
        return "<" if word != "operator" and (word == "template" or tight) and text[at + 1] not in " =<" else None
    if c == "(":
        last = before.rstrip()[-1:]
        if word == "for":
            return "for"
        if re.search(r"\boperator\W{1,3}$", before):
            return "("
        called = last and (last.isalnum() or last in "_)>]}") and word not in {"if", "while", "switch", "return", "case"}
        return "(" if called else "group"
    if c == "{":
        last = before.rstrip()[-1:]
        block = before.endswith((" ", "\n")) and (
            last in ")]" or word in {"mutable", "noexcept"} or re.search(r"-> [\w:<>]+ $", before)
            or outer == "block" and (last.isalnum() or last in "_;}{>:") and word != "return")
        if block and re.search(r"\benum\b[^;{}]*$", before):
            return "enum"
        return "block" if block else "{"
    return c


def is_declaration(text):
    text = re.sub(r"\s+", " ", text).strip()
    while HEADS.match(text):
        text = text[HEADS.match(text).end():]
    first = re.match(r"\w*", text).group()
    return first in {"using", "template", "friend"} or (
        first not in NOT_TYPES and DECLARATION.match(text) is not None)


def faults(text):
    """(line, kind) of each."""
    text, found = bare(text), []
    stack = [Bracket("block", -1)]
    line = lambda at: text.count("\n", 0, at) + 1

    def end_statement(at, head):
        top = stack[-1]
        if top.kind == "block" and top.commas and not head:
            if not is_declaration(top.text):
                found.append((line(top.commas[0]), "comma"))
        top.commas, top.text, top.statement = [], "", at + 1

    for at, c in enumerate(text):
        top = stack[-1]
        if c in "([{<":
            kind = opening(text, at, text[max(0, at - 400):at], top.kind)
            if kind is None:
                top.text += c
            else:
                if kind in ("block", "enum") and top.kind == "block":
                    end_statement(at, True)
                stack.append(Bracket(kind, at))
            continue
        if c in ")]}" or (c == ">" and top.kind == "<" and text[at - 1] not in "-="):
            if c in "}" and top.kind == "block":
                end_statement(at, False)
            while len(stack) > 1:
                closed = stack.pop()
                if closed.kind != "<" or c == ">":
                    break
            if closed.kind in ("group", "if") and closed.commas:
                found.append((line(closed.commas[0]), "comma"))
            if closed.kind in ("(", "group") and len(closed.commas) >= MOST:
                pieces = [re.sub(r"\s+", " ", each).strip() for each in closed.text.split(",")]
                if len(pieces) > MOST and all(PARAMETER.match(each) for each in pieces):
                    found.append((line(closed.begin), "parameters"))
            if closed.kind not in ("block", "enum"):
                stack[-1].text += {"(": "()", "for": "()", "group": "()", "[": "[]", "{": "{}", "<": "<>"}[closed.kind]
            continue
        if c == "," and not text[at + 1:at + 5].strip().startswith("..."):  # no fold
            top.commas.append(at)
        if c == ";" and top.kind == "<":
            while stack[-1].kind == "<":
                stack.pop()
        if c == ";" and stack[-1].kind == "block":
            end_statement(at, False)
            continue
        stack[-1].text += c
    return sorted(set(found))


GOOD = """
template <class A, class B>
struct Pair : First<A>, Second<B> {
  Pair(A a, B b) : first(a), second(b) {}
  int x = 0, *y = nullptr;
  enum class Kind { one, two };
};
enum Colour { red, green };
void call(int a, int b, int c, int d, int e, int f, int g) {
  for (int i = 0, j = 1; i < j; ++i, --j) call(a, b, c, d, e, f, g);
  const std::map<std::string, int> table = {{"a", 1}, {"b", 2}};
  const auto [first, second] = std::pair(1, 10'000);
  if (a < b) return call(a, b, c, d, e, f, first);
  list(1 * a, 2 * b, 3 * c, 4 * d, 5 * e, 6 * f, 7 * g, 8 * a);
  friend bool operator==(const Pair& a, const Pair& b) = default;
  for (const int each : {1, 2}) (add(each), ...);
  all({{"a", [](int u, int v) { return u; }}, {"b", one}});
  const auto sum = [&](int u, int v) { return u + v; };  // a, b
  Shape shape{1, 2};
  std::vector<int> one{1, 2}, other{3, 4};
}
"""
BAD = {
    "void f() {\n  a = 1, b = 2;\n}\n": "comma",
    "void f() {\n  if (a) x(), y();\n}\n": "comma",
    "void f() {\n  return low(), high();\n}\n": "comma",
    "Run::Run() : model((seed(1), 2)) {}\n": "comma",
    "void f() {\n  while (next(), more()) run();\n}\n": "comma",
    "void f() {\n  for (;;) ++a, ++b;\n}\n": "comma",
    "void f() {\n  a[i].x(), b[i].y();\n}\n": "comma",
    "auto f = [] {\n  list.push_back(1), list.push_back(2);\n};\n": "comma",
    "void f(int a, int b, int c, int d, int e, int f, int g, int h);\n": "parameters",
    "void f(const T* a, std::int64_t b, Shape& c, int d = 1, A<B, C> e, int f, int g,\n  int h) {\n}\n": "parameters",
}


def main():
    if sys.argv[1:] == ["--itself"]:
        wrong = [f"in what is right: {each}" for each in faults(GOOD)]
        wrong += [f"not seen: {text}" for text, kind in BAD.items() if [each for _, each in faults(text)] != [kind]]
    else:
        wrong = []
        for folder in FOLDERS:
            for file in sorted((ROOT / folder).rglob("*")):
                if file.suffix in (".h", ".cpp"):
                    for line, kind in faults(file.read_text(encoding="utf-8")):
                        wrong.append(f"{file.relative_to(ROOT)}:{line}: {REMEDY[kind]}")
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


main()
