"""The statements of a function, and the sites in them that have mutants."""
import re
from dataclasses import dataclass, field

from expressions import ASSIGNMENTS, parse
from operators import Alternatives, opposite
from tokens import Unreadable

UNTOUCHED = {"using", "static_assert", "constexpr", "case", "default", "struct", "delete", "throw"}
# Mutants of other arguments affect only speed or the name in a message.
ONLY_THE_BODY = {"parallel_for", "for_rows", "dispatch_float", "dispatch_number", "dispatch"}
FREE_OF_FAULTS = {"rows_grain", "INFINITY"}
# Statements and variables that affect only time or memory.
COST = re.compile(r"([\w.>-]+(\.|->))?(\w*prefetch\w*|fetch_rows|madvise|reserve|shrink_to_fit|release_cached|"
                  r"start_workers|set_num_threads)\(|(const )?((memory::)?Scratch<|ScopedValue<bool> serial)")
COST_VARIABLE = re.compile(r"\w*grain|threads")
# Forcing such a condition to true only computes a gradient that nobody reads.
WANTED = re.compile(r"\bwants\(|\w*wanted\b")


@dataclass
class Site:
    begin: int  # offsets into the source
    end: int
    form: str  # expression, piece (of a comma expression, its value unused), statement
    token: int  # the first one, for its line
    alternatives: list = field(default_factory=list)  # (kind, text)


class Walker:
    """Collects the sites of one function."""

    def __init__(self, source, function, unread):
        self.source, self.function, self.unread = source, function, unread
        self.alternatives = Alternatives(source, function)
        self.sites = []

    def initial(self, arguments):
        for begin, end in arguments:
            if begin < end:
                self.root(begin, end)

    def block(self, i, end):
        while i < end:
            i = self.statement(i, end)

    def statement(self, i, end):
        """Processes the statement at i; returns the start of the next one."""
        source, text = self.source, self.source.text_of(i)
        if text == ";":
            return i + 1
        if text == "{":
            self.block(i + 1, source.partner[i])
            return source.partner[i] + 1
        if text in ("if", "while", "for", "switch"):
            return self.controlled(i, end)
        if text in ("else", "do", "try"):
            return self.statement(i + 1, end)
        if text == "catch":
            return self.statement(source.partner[i + 1] + 1, end)
        if text in ("case", "default"):
            while source.text_of(i) != ":":
                i += 1
            return i + 1
        stop = i
        while stop < end and source.text_of(stop) != ";":
            stop = source.partner[stop] if source.text_of(stop) in ("(", "[", "{") else stop
            stop += 1
        self.simple(i, stop)
        return stop + 1

    def controlled(self, i, end):
        source, text = self.source, self.source.text_of(i)
        constant = source.text_of(i + 1) == "constexpr"
        opening = i + 2 if constant else i + 1
        close = source.partner[opening]
        if text == "for":
            self.loop(opening + 1, close)
        elif not constant:
            parts = source.split(opening + 1, close, ";")
            if len(parts) == 2:
                self.simple(*parts[0], deletable=False)
            begin, last = parts[-1]
            if not self.is_declaration(begin, last):
                self.root(begin, last, condition=text != "switch", may_hold=text == "if")
        close += 1
        if source.text_of(close) == "[":  # [[unlikely]]
            close = source.partner[close] + 1
        return self.statement(close, end)

    def loop(self, begin, end):
        parts = self.source.split(begin, end, ";")
        if len(parts) != 3:
            return
        self.simple(*parts[0], deletable=False)
        self.root(*parts[1])
        for piece in self.source.split(*parts[2])[1:]:
            self.piece(*piece)

    def simple(self, begin, end, deletable=True):
        source, text = self.source, self.source.text_of(begin)
        if text in UNTOUCHED or COST.match(source.joined(begin, end)):
            return
        if text == "return":
            return self.returned(begin, end)
        if text in ("continue", "break"):
            return self.site(begin, end + 1, "statement", [("deleted", "")])
        if self.is_declaration(begin, end):
            return self.declaration(begin, end)
        last_word = text == "fail" and source.text_of(end + 1) == "}"  # without it the function would not return a value
        if deletable and not last_word:
            self.site(begin, end + 1, "statement", [("deleted", "")])
        pieces = source.split(begin, end)
        for piece in pieces:
            if source.text_of(piece[0]) == "require":
                self.guard(*piece)
            elif len(pieces) > 1:
                self.piece(*piece)
            else:
                self.root(*piece, used=False)

    def returned(self, begin, end):
        if begin + 1 == end:
            return
        if self.source.text_of(begin + 1) != "{" or self.source.partner[begin + 1] + 1 != end:
            return self.root(begin + 1, end)
        pieces = self.source.split(begin + 2, end - 1)
        texts = [self.source.joined(*piece) for piece in pieces]
        others = []
        if "[" not in "".join(texts):
            for i in range(len(texts) - 1):
                if texts[i] != texts[i + 1]:
                    swapped = texts[:i] + [texts[i + 1], texts[i]] + texts[i + 2:]
                    others.append(("swapped", f"return {{{', '.join(swapped)}}};"))
        self.site(begin, end + 1, "statement", others)
        for piece in pieces:
            gradients = self.function.returns.endswith("Gradients")
            extra = [("no gradient", "Gradient{}")] if gradients else []
            self.root(*piece, extra=extra)

    def guard(self, begin, end):
        call = parse(self.source, begin, end)
        first = call.children[1]
        self.root(first.begin, first.end, condition=True)

    def is_declaration(self, begin, end):
        source, i = self.source, begin
        if source.text_of(i) in ("const", "static", "auto", "thread_local", "typename", "alignas", "unsigned"):
            return True
        while source.tokens[i].kind == "word":
            after = source.template_end(i + 1) or i + 1
            if source.text_of(after) != "::":
                break
            i = after + 1
        else:
            return False
        pointer = source.text_of(after) in ("*", "&")
        while source.text_of(after) in ("*", "&", "const"):
            after += 1
        if after >= end or source.tokens[after].kind != "word":
            return False
        following = source.text_of(after + 1) if after + 1 < end else ";"
        return following in ("=", ";") if pointer else following in ("=", ";", "(", "{", "[", ",")

    def declaration(self, begin, end):
        source = self.source
        doubles = [source.text_of(i) for i in range(begin, min(begin + 2, end))]
        for first, last in source.split(begin, end):
            equals, bracket = self.start_of_value(first, last)
            if equals is not None and COST_VARIABLE.fullmatch(source.text_of(equals - 1)):
                continue
            if equals is not None:
                text, extra = source.joined(equals + 1, last), []
                if "double" in doubles and text[:1] not in ("*", "["):
                    extra = self.alternatives.narrowed(text)
                self.root(equals + 1, last, extra=extra)
            elif bracket is not None:
                for argument in source.split(bracket + 1, source.partner[bracket]):
                    self.root(*argument)

    def start_of_value(self, i, end):
        """For a declarator: the index of its `=`, or of the bracket with its arguments."""
        while i < end:
            text = self.source.text_of(i)
            if text in ("=", "(", "{"):
                return (i, None) if text == "=" else (None, i)
            if text == "[":
                i = self.source.partner[i]
            i = self.source.template_end(i) or i + 1
        return None, None

    def piece(self, begin, end):
        self.site(begin, end, "piece", [("deleted", "(void)0")])
        self.root(begin, end, used=False)

    def root(self, begin, end, condition=False, may_hold=True, used=True, extra=()):
        """A complete expression."""
        named = self.source.text_of(begin) == "." and self.source.text_of(begin + 2) == "="
        try:
            node = parse(self.source, begin + 3 if named else begin, end)
            node.named = named
        except Unreadable as why:
            self.unread.append(f"{self.source.path}:{self.source.line(begin)}: {why}")
            return
        more, turned = list(extra), opposite(self.source, node) if condition else None
        if condition and not may_hold:  # `while (true)` would never end
            more += [("negation", turned), ("never", "false")]
        elif condition:  # a test that detects either of these detects the negation
            more += [("never", "false")] + [("always", "true")] * (not WANTED.search(self.alternatives.text(node)))
        self.visit(node, used=used, more=more, left_out=turned if may_hold else None)

    def visit(self, node, used=True, more=(), place=False, left_out=None):
        """The node and its children. `place`: the node is assigned to, so it has no mutants."""
        if node.kind == "lambda":
            return self.block(*node.body)
        if node.op == "...":
            return None
        if not place:
            self.site_of(node, used, more, left_out)
        if node.kind == "binary" and node.op in ASSIGNMENTS:
            self.visit(node.children[0], place=True)
            return self.visit(node.children[1])
        if node.kind == "call":
            return self.visit_call(node)
        written = node.kind == "postfix" or node.kind == "unary" and node.op in ("&", "++", "--", "*")
        for k, child in enumerate(node.children):
            self.visit(child, place=(place and k == 0) or written)

    def visit_call(self, node):
        name = self.source.joined(node.children[0].begin, node.children[0].end)
        if name in FREE_OF_FAULTS:
            return
        if node.children[0].kind != "name":
            self.visit_callee(node.children[0])
        only_body = name in ONLY_THE_BODY
        for argument in node.children[1:]:
            if not only_body or argument.kind == "lambda":
                self.visit(argument, left_out=self.alternatives.exchanged(argument) if name == "std::abs" else None)

    def visit_callee(self, node):
        """A callee has mutants only in the object of a method call."""
        for child in node.children if node.kind == "member" else [node]:
            self.visit(child)

    def site_of(self, node, used, more, left_out):
        seen, made = {self.source.joined(node.begin, node.end), left_out}, []
        for kind, text in self.alternatives.of(node, used) + list(more):
            if text not in seen:
                seen.add(text)
                made.append((kind, text))
        form = "expression" if used else "piece"
        self.site(node.begin, node.end, form, made)

    def site(self, begin, end, form, alternatives):
        if alternatives:
            tokens = self.source.tokens
            self.sites.append(Site(tokens[begin].start, tokens[end - 1].end, form, begin, alternatives))
