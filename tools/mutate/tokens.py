"""C++ as tokens: enough of the language for sources formatted by clang-format."""
import re
from dataclasses import dataclass

PATTERN = re.compile(r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/|\#(?:[^\n\\]|\\.)*(?:\\\n[^\n]*)*)
  | (?P<string>R"\((?:.*?)\)"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')
  | (?P<number>0x[0-9a-fA-F.']+(?:p[+-]?\d+)?[uUlL]*|(?:\d[\d']*\.?\d*|\.\d+)(?:e[+-]?\d+)?[fFuUlL]*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<sign>::|->|\+\+|--|<<|<=>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|.)
""", re.VERBOSE | re.DOTALL)

OPENING = {"(": ")", "[": "]", "{": "}"}


def without_comments(text):
    """The text with one blank or newline for each gap between tokens, so that a changed comment does not cause
    recompilation."""
    out, gap = [], ""
    for found in PATTERN.finditer(text):
        part = found.group()
        if found.lastgroup == "space" and not part.startswith("#"):
            gap += " " if part.startswith("//") else part
            continue
        out.append(("\n" if "\n" in gap else " ") * bool(gap) + part)
        gap = ""
    return "".join(out) + ("\n" if "\n" in gap else " ") * bool(gap)


class Unreadable(Exception):
    """C++ that this parser does not support."""


@dataclass(frozen=True)
class Token:
    kind: str  # string, number, word, sign
    text: str
    start: int  # offsets into the source
    end: int


class Source:
    """A file as tokens, with the partner of each bracket."""

    def __init__(self, text, path="?"):
        self.text, self.path, self.tokens = text, path, []
        at = 0
        while at < len(text):
            found = PATTERN.match(text, at)
            kind = found.lastgroup
            if kind != "space":
                self.tokens.append(Token(kind, found.group(), at, found.end()))
            at = found.end()
        self.partner = self._partners()

    def _partners(self):
        partner, opened = {}, []
        for i, token in enumerate(self.tokens):
            if token.kind != "sign":
                continue
            if token.text in OPENING:
                opened.append(i)
            elif token.text in OPENING.values():
                if not opened or OPENING[self.tokens[opened[-1]].text] != token.text:
                    raise Unreadable(f"{self.path}: unmatched bracket")
                partner[opened[-1]] = i
                partner[i] = opened.pop()
        return partner

    def text_of(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def line(self, i):
        return self.text.count("\n", 0, self.tokens[i].start) + 1

    def lines_between(self, start, end):
        """The line numbers of offsets [start, end)."""
        return range(self.text.count("\n", 0, start) + 1, self.text.count("\n", 0, end) + 2)

    def joined(self, begin, end):
        """Tokens [begin, end) on one line, without comments."""
        parts = []
        for i in range(begin, end):
            if i > begin and self.tokens[i - 1].end < self.tokens[i].start:
                parts.append(" ")
            parts.append(self.tokens[i].text)
        return "".join(parts)

    def adjacent(self, i):
        """True if token i touches the next one."""
        return i + 1 < len(self.tokens) and self.tokens[i].end == self.tokens[i + 1].start

    def template_end(self, i):
        """Index after the `>` that closes the template arguments opened by the `<` at i; None if that `<` is a
        comparison, which clang-format surrounds with blanks."""
        if self.text_of(i) != "<" or not self.adjacent(i - 1):
            return None
        if self.tokens[i - 1].kind != "word":
            return None
        depth = 0
        while i < len(self.tokens):
            text = self.tokens[i].text
            if text == "<":
                depth += 1
            elif text == ">":
                depth -= 1
                if depth == 0:
                    return i + 1
            elif text in ";{":
                return None
            elif text in OPENING:
                i = self.partner[i]
            i += 1
        return None

    def split(self, begin, end, sign=","):
        """Tokens [begin, end) cut at `sign`, not inside brackets or template arguments."""
        pieces, first, i = [], begin, begin
        while i < end:
            text = self.tokens[i].text
            if text in OPENING:
                i = self.partner[i]
            elif text == "<" and (after := self.template_end(i)) is not None:
                i = after - 1
            elif text == sign:
                pieces.append((first, i))
                first = i + 1
            i += 1
        pieces.append((first, end))
        return [piece for piece in pieces if piece[0] < piece[1]]
