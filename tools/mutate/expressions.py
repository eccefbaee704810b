"""Expressions of C++ as trees of nodes, each a range of tokens."""
from dataclasses import dataclass, field

from tokens import Unreadable

PRECEDENCE = {
    "=": 1, "+=": 1, "-=": 1, "*=": 1, "/=": 1, "%=": 1, "|=": 1, "&=": 1, "?": 2,
    "||": 3, "&&": 4, "|": 5, "^": 6, "&": 7, "==": 8, "!=": 8,
    "<": 9, ">": 9, "<=": 9, ">=": 9, "<<": 10, ">>": 10, "+": 11, "-": 11, "*": 12, "/": 12, "%": 12,
}
ASSIGNMENTS = {op for op, level in PRECEDENCE.items() if level == 1}
UNARY = {"-", "+", "!", "~", "*", "&", "++", "--"}


@dataclass
class Node:
    kind: str  # name number string unary binary ternary call index member braces lambda group postfix
    begin: int
    end: int
    op: str = ""
    children: list = field(default_factory=list)
    body: tuple = None  # of a lambda: the tokens between its braces
    named: bool = False  # the value of a designated initializer: {.keep_graph = true}


class Parser:
    def __init__(self, source, begin, end):
        self.source, self.at, self.end = source, begin, end

    def peek(self):
        return self.source.text_of(self.at) if self.at < self.end else ""

    def expect(self, text):
        if self.peek() != text:
            raise Unreadable(f"expected '{text}', got '{self.peek()}'")
        self.at += 1

    def whole(self):
        node = self.expression(1)
        if self.at != self.end:
            raise Unreadable(f"unexpected '{self.peek()}'")
        return node

    def binary_sign(self):
        text = self.peek()
        if text == ">" and self.source.text_of(self.at + 1) == ">" and self.source.adjacent(self.at):
            return ">>"
        return text

    def expression(self, level):
        left = self.unary()
        while True:
            op = self.binary_sign()
            mine = PRECEDENCE.get(op, 0)
            if mine < level or mine == 0:
                return left
            self.at += 2 if op == ">>" else 1
            if op == "?":
                yes = self.expression(1)
                self.expect(":")
                no = self.expression(2)
                left = Node("ternary", left.begin, no.end, op, [left, yes, no])
            else:
                right = self.expression(mine if mine == 1 else mine + 1)
                left = Node("binary", left.begin, right.end, op, [left, right])

    def unary(self):
        begin, text = self.at, self.peek()
        if text in UNARY:
            self.at += 1
            inner = self.unary()
            return Node("unary", begin, inner.end, text, [inner])
        if text == "new":
            self.at += 1
            made = self.postfix(self.primary())
            return Node("new", begin, made.end, text, made.children[1:])
        if text in ("delete", "throw", "operator"):
            raise Unreadable(text)
        if text == "sizeof":  # not worth mutating
            self.at += 2 if self.source.text_of(begin + 1) == "..." else 1
            self.at = self.source.partner.get(self.at, self.at) + 1
            return self.postfix(Node("sizeof", begin, self.at))
        return self.postfix(self.primary())

    def name(self):
        """An identifier with its qualifiers and template arguments."""
        begin = self.at
        if self.peek() == "::":
            self.at += 1
        while True:
            if self.source.tokens[self.at].kind != "word":
                raise Unreadable(f"expected a name, got '{self.peek()}'")
            self.at += 1
            after = self.source.template_end(self.at) if self.at < self.end else None
            if after is not None:
                self.at = after
            if self.peek() != "::":
                return Node("name", begin, self.at)
            self.at += 1

    def primary(self):
        begin, token = self.at, self.source.tokens[self.at] if self.at < self.end else None
        if token is None:
            raise Unreadable("expected an expression")
        if token.kind == "number":
            self.at += 1
            return Node("number", begin, self.at)
        if token.kind == "string":
            while self.at < self.end and self.source.tokens[self.at].kind == "string":
                self.at += 1
            return Node("string", begin, self.at)
        if token.text == "(":
            close = self.source.partner[begin]
            inner = Parser(self.source, begin + 1, close).whole()
            self.at = close + 1
            return Node("group", begin, self.at, "", [inner])
        if token.text == "{":
            return self.braces(begin)
        if token.text == "[":
            return self.closure()
        return self.name()

    def braces(self, begin):
        close = self.source.partner[self.at]
        inside = self.arguments(self.at + 1, close)
        self.at = close + 1
        return Node("braces", begin, self.at, "", inside)

    def arguments(self, begin, end):
        nodes = []
        for first, last in self.source.split(begin, end):
            named = self.source.text_of(first) == "." and self.source.text_of(first + 2) == "="
            nodes.append(Parser(self.source, first + 3 if named else first, last).whole())
            nodes[-1].named = named
        return nodes

    def closure(self):
        begin = self.at
        self.at = self.source.partner[self.at] + 1
        if self.peek() == "<":
            while self.peek() != ">":
                self.at += 1
            self.at += 1
        if self.peek() == "(":
            self.at = self.source.partner[self.at] + 1
        while self.at < self.end and self.peek() != "{":
            self.at += 1
        self.at += 0 if self.peek() == "{" else 1
        close = self.source.partner.get(self.at)
        if close is None:
            raise Unreadable("lambda without a body")
        body = (self.at + 1, close)
        self.at = close + 1
        return Node("lambda", begin, self.at, "", [], body)

    def postfix(self, node):
        while self.at < self.end:
            text = self.peek()
            if text == "(":
                close = self.source.partner[self.at]
                inside = self.arguments(self.at + 1, close)
                self.at = close + 1
                node = Node("call", node.begin, self.at, "", [node] + inside)
            elif text == "[":
                close = self.source.partner[self.at]
                inner = Parser(self.source, self.at + 1, close).whole()
                self.at = close + 1
                node = Node("index", node.begin, self.at, "", [node, inner])
            elif text == "{" and node.kind == "name":
                node = self.braces(node.begin)
            elif text in (".", "->"):
                self.at += 1
                if self.peek() == "template":
                    self.at += 1
                member = self.name()
                node = Node("member", node.begin, member.end, text, [node])
            elif text in ("++", "--", "..."):
                self.at += 1
                node = Node("postfix", node.begin, self.at, text, [node])
            else:
                return node
        return node


def parse(source, begin, end):
    return Parser(source, begin, end).whole()
