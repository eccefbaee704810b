#!/usr/bin/env python3
"""Writes docs/derivations as one HTML page: formulas in MathML, no scripts, no external resources.

    tools/derivations.py PAGE.html     (the build's target `derivations` writes build/…/derivations.html)
    tools/derivations.py --itself      tests the notation

tests/derivations/notation.h defines the notation; tests evaluate every line.
"""
import html
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FUNCTIONS = "exp log sin cos tanh erf max min floor round sign σ const".split()
REDUCTIONS = {"Σ": "∑", "Π": "∏", "max": "max", "min": "min"}
SUPERSCRIPTS = {"²": "<mn>2</mn>", "³": "<mn>3</mn>", "⁻¹": "<mrow><mo>−</mo><mn>1</mn></mrow>"}
TOKEN = re.compile(r"\s*(⁻¹|\d+(?:\.\d+)?|(?:[^\W\d_ΣΠδ∂½π][\u0300-\u036f]*)+|\S)")


class Trouble(Exception):
    """Text that violates the notation."""


def row(*parts):
    return parts[0] if len(parts) == 1 else "<mrow>" + "".join(parts) + "</mrow>"


def identifier(word):
    return "<mi>%s</mi>" % word


def operator(sign):
    return "<mo>%s</mo>" % html.escape(sign)


def bare(formula):
    """Removes outer parentheses, for use under a fraction bar or a root."""
    found = re.fullmatch(r"<mrow class=\"group\"><mo>\(</mo>(.*)<mo>\)</mo></mrow>", formula)
    return found[1] if found else formula


class Reader:
    """Recursive descent: one method per rule, each returns MathML."""

    def __init__(self, text):
        self.text, self.at, self.bars = text, 0, 0

    def whole(self):
        formula = self.sum()
        if self.peek():
            raise Trouble("%r: unexpected '%s'" % (self.text, self.peek()))
        return formula

    def peek(self):
        found = TOKEN.match(self.text, self.at)
        return found[1] if found else ""

    def next(self):
        found = TOKEN.match(self.text, self.at)
        if not found:
            raise Trouble("%r ends too early" % self.text)
        self.at = found.end()
        return found[1]

    def take(self, *tokens):
        return self.next() if self.peek() in tokens else ""

    def want(self, token):
        if not self.take(token):
            raise Trouble("%r: '%s' is missing before %r" % (self.text, token, self.text[self.at:]))

    def adjoins(self, sign):
        return self.text.startswith(sign, self.at)

    def sum(self):
        parts = []
        sign = self.take("−", "-")
        while True:
            parts += ([operator("−" if sign in "−-" else sign)] if sign else []) + [self.term()]
            sign = self.take("+", "−", "-")
            if not sign:
                return row(*parts)

    def term(self):
        out = self.factor()
        while True:
            sign = self.take("·", "⊙", "/")
            if sign == "/":
                out = "<mfrac>%s%s</mfrac>" % (bare(out), bare(self.factor()))
            elif sign:
                out = row(out, operator(sign), self.factor())
            elif self.starts_factor():
                out = row(out, '<mspace width="0.2em"></mspace>', self.factor())
            else:
                return out

    def starts_factor(self):
        token = self.peek()
        if token == "|":
            return self.bars == 0
        return token != "" and (token in "([½√∂δΣΠπ" or token[0].isalnum())

    def factor(self):
        before, token = self.at, self.next()
        if token in REDUCTIONS and self.adjoins("_"):
            self.at += 1
            letters = "".join(identifier(c) for c in self.next())
            sign = operator(REDUCTIONS[token])
            return row("<munder>%s%s</munder>" % (sign, row(letters, "")), self.term())
        self.at = before
        return self.power()

    def power(self):
        base = self.postfix()
        raised = self.take(*SUPERSCRIPTS)
        if raised:
            return "<msup>%s%s</msup>" % (base, SUPERSCRIPTS[raised])
        return "<msup>%s%s</msup>" % (base, bare(self.postfix())) if self.take("^") else base

    def postfix(self):
        out = self.primary()
        while True:
            if self.adjoins("ᵀ"):
                self.next()
                out = "<msup>%s<mi>T</mi></msup>" % out
            elif self.adjoins("_"):
                out = "<msub>%s%s</msub>" % (out, self.subscript())
            else:
                return out

    def subscript(self):
        self.at += 1
        parts = []
        while re.match(r"[A-Za-z0-9{]", self.text[self.at:self.at + 1]):
            c = self.text[self.at]
            self.at += 1
            if c == "{":
                parts.append(self.sum())
                self.want("}")
            else:
                parts.append("<mn>%s</mn>" % c if c.isdigit() else identifier(c))
        if not parts:
            raise Trouble("%r has an empty subscript" % self.text)
        return row(*parts)

    def group(self, opening, closing):
        bars, self.bars = self.bars, 0
        out = self.sum()
        self.bars = bars
        self.want(closing)
        return '<mrow class="group">%s%s%s</mrow>' % (operator(opening), out, operator(closing))

    def primary(self):
        token = self.next()
        if token == "(":
            return self.group("(", ")")
        if token == "|":
            self.bars += 1
            out = self.sum()
            self.want("|")
            self.bars -= 1
            return row(operator("|"), out, operator("|"))
        if token == "[":
            left, sign = self.sum(), self.next()
            right = self.sum()
            self.want("]")
            return row(operator("["), left, operator(sign), right, operator("]"))
        if token == "½":
            return "<mfrac><mn>1</mn><mn>2</mn></mfrac>"
        if token == "√":
            return "<msqrt>%s</msqrt>" % bare(self.postfix())
        if token == "∂":
            above = self.postfix()
            self.want("/")
            self.want("∂")
            return "<mfrac>%s%s</mfrac>" % (row(operator("∂"), above),
                                            row(operator("∂"), self.postfix()))
        if token[0].isdigit():
            return "<mn>%s</mn>" % token
        if token in FUNCTIONS and self.adjoins("("):
            return self.call(token)
        if not token[0].isalpha():
            raise Trouble("%r: '%s' starts nothing" % (self.text, token))
        return identifier(token)

    def call(self, name):
        self.at += 1
        arguments = [self.sum()]
        while self.take(","):
            arguments.append(self.sum())
        self.want(")")
        inside = operator(",").join(arguments)
        return row(identifier(name), operator("\u2061"), operator("("), inside, operator(")"))


def mathml(text):
    return '<math>%s</math>' % Reader(text).whole()


def line(text):
    """A table row for "left = right ⟵ reason"."""
    formula, _, reason = text.partition("⟵")
    left, _, right = formula.partition("=")
    cells = (mathml(left.strip()) if left.strip() else "", "=", mathml(right.strip()),
             inline(reason.strip()))
    return "<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>" % cells


def inline(text):
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text, quote=False))


def section(name, text):
    """One file as HTML."""
    out, paragraph, inside = [], [], False
    def close():
        if paragraph:
            out.append("<p>%s</p>" % inline(" ".join(paragraph)))
        paragraph.clear()
    for each in text.splitlines():
        if each.startswith("```"):
            close()
            inside = not inside
            out.append("<table>" if inside else "</table>")
        elif inside:
            out.append(line(each) if each.strip() else '<tr class="gap"><td></td></tr>')
        elif each.startswith("# "):
            out.append('<h2 id="%s">%s</h2>' % (name, html.escape(each[2:])))
        elif each.strip():
            paragraph.append(each.strip())
        else:
            close()
    close()
    return "\n".join(out)


STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
nav a { display: inline-block; margin-right: .8em; }
table { border-spacing: .5em .35em; display: block; overflow-x: auto; }
td { vertical-align: middle; } td:first-child { text-align: right; } td:last-child { padding-left: 1.5em; }
tr.gap { height: .6em; }
math { font-size: 1.15em; } math mo, math mfrac { math-style: normal; }
code { font-size: .9em; } h2 { margin-top: 2.5em; }
@media print { nav { display: none; } h2 { break-after: avoid; } table { overflow: visible; } }
"""


def page(files):
    names = [file.stem for file in files]
    links = "\n".join('<a href="#%s">%s</a>' % (name, name) for name in names)
    body = "\n".join("<section>\n%s\n</section>" % section(file.stem, file.read_text("utf-8"))
                     for file in files)
    return """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Gradus: the derivations</title>
<style>%s</style>
<h1>Why each gradient is what it is</h1>
<p>Every line is evaluated by the tests, on three sets of shapes: neighbours are equal, and the last is what
<code>Op::backward</code> gives. δ is 1 where its indices are equal, else 0; so is [ ] where the comparison holds.</p>
<nav aria-label="operations">
%s
</nav>
<main>
%s
</main>
</html>
""" % (STYLE, links, body)


def itself():
    """Formulas with expected parts of their MathML."""
    tries = (("a_ij / b_j²", "<mfrac><msub>"), ("Σ_ij x_ij", "<munder><mo>∑</mo>"),
             ("∂y_j/∂x_i", "<mfrac><mrow><mo>∂</mo>"), ("(a b)ᵀ", "<mi>T</mi></msup>"),
             ("x̂_ti w_i", "<mi>x̂</mi>"), ("1 / √(x + eps)", "<msqrt><mrow><mi>x</mi>"),
             ("|x_i|", "<mo>|</mo>"), ("[j ≤ i] x_j", "<mo>≤</mo>"), ("x_{t + k}", "<mo>+</mo>"))
    for text, wanted in tries:
        if wanted not in mathml(text):
            sys.exit("%s became %s, which lacks %s" % (text, mathml(text), wanted))
    for text in ("a_", "a +", "(a", "Σ_ij", "a ) b"):
        try:
            mathml(text)
        except Trouble:
            continue
        sys.exit("%r was accepted as a formula" % text)


def main(arguments):
    if arguments == ["--itself"]:
        return itself()
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit("derivations.py: give one file to write, or --itself")
    try:
        text = page(sorted((ROOT / "docs" / "derivations").glob("*.md")))
        pathlib.Path(arguments[0]).write_text(text, "utf-8")
    except Trouble as trouble:
        sys.exit("derivations.py: %s" % trouble)
    except OSError as error:
        sys.exit("derivations.py: %s" % error)


if __name__ == "__main__":
    main(sys.argv[1:])
