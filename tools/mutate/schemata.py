"""Writes all mutants of a source into one source; a number selects one at run time.

Each site becomes `(gradus_mutant_among(7, 9) ? … : original)`. Every mutant has its own lines, so that a compiler
error identifies it.
"""
from dataclasses import dataclass

from functions import functions_of
from statements import Walker
from tokens import Source, Unreadable, without_comments

CONSTANTS = {"__builtin_shufflevector"}  # its arguments must be constants
INCLUDE = '#include "gradus/tests/mutation/mutant.h"\n'


@dataclass
class Mutant:
    id: int
    path: str
    line: int
    kind: str
    before: str
    after: str
    site: int  # id of the site's first mutant: coverage is recorded per site

    def shown(self):
        return f"{self.path}:{self.line}: {self.kind}: {self.before} ⇒ {self.after or 'nothing'}"


def read(path, text, unread):
    """The source and its sites in order, outer ones before those inside them."""
    source, sites = Source(text, path), []
    for function in functions_of(source):
        # A constexpr function may run before a mutant is selected.
        if "constexpr" in function.returns.split() or function.calls & CONSTANTS:
            continue
        walker = Walker(source, function, unread)
        try:
            walker.initial(function.initial)
            walker.block(*function.body)
        except Unreadable as why:
            unread.append(f"{path}: {function.name}: {why}")
        sites += [site for site in walker.sites if site.alternatives]
    sites.sort(key=lambda site: (site.begin, -site.end))
    return source, sites


def number(source, sites, first):
    """[(site, its mutants)], with ids from `first` on."""
    numbered = []
    for site in sites:
        before = " ".join(source.text[site.begin:site.end].split())
        mutants = [Mutant(first + k, source.path, source.line(site.token), kind, before, after, first)
                   for k, (kind, after) in enumerate(site.alternatives)]
        first += len(mutants)
        numbered.append((site, mutants))
    return numbered


class Writer:
    """Writes the mutated source; `lines` maps each of its lines to a mutant."""

    def __init__(self, source, numbered, without=frozenset()):
        self.source, self.without = source, without
        self.numbered = [(site, [m for m in mutants if m.id not in without]) for site, mutants in numbered]
        self.numbered = [entry for entry in self.numbered if entry[1]]
        self.parts, self.lines, self.line = [], {}, 1
        self.sites_open = []

    def write(self):
        text = self.source.text
        guard = text.find("#pragma once\n")
        head = guard + len("#pragma once\n") if guard >= 0 else 0
        self.put(without_comments(text[:head]) + INCLUDE)
        self.span(head, len(text), 0)
        return "".join(self.parts)

    def put(self, text, mutant=None):
        if mutant is not None:
            for line in range(self.line, self.line + text.count("\n") + 1):
                self.lines[line] = mutant.id
        elif self.sites_open:
            for line in range(self.line, self.line + text.count("\n") + 1):
                self.lines.setdefault(line, -self.sites_open[-1])
        self.parts.append(text)
        self.line += text.count("\n")

    def span(self, begin, end, k):
        """Writes source [begin, end) with its sites from the k-th on; returns the next k."""
        while k < len(self.numbered) and self.numbered[k][0].begin < end:
            site, mutants = self.numbered[k]
            self.put(without_comments(self.source.text[begin:site.begin]))
            k = self.site(site, mutants, k + 1)
            begin = site.end
        self.put(without_comments(self.source.text[begin:end]))
        return k

    def site(self, site, mutants, k):
        first, last = mutants[0].site, mutants[-1].id
        statement = site.form == "statement"
        void = "(void)" if site.form == "piece" else ""
        self.lines.setdefault(self.line, -first)
        self.put(f"{{ if (gradus_mutant_among({first}, {last})) {{\n" if statement else
                 f"(gradus_mutant_among({first}, {last})\n? (")
        for mutant in mutants:
            if statement:
                self.put(f"if (gradus_mutant == {mutant.id}) {{ {mutant.after} }}", mutant)
            else:
                like = void or f"gradus::gradus_like<decltype(({mutant.before}))>"
                self.put(f"gradus_mutant == {mutant.id} ? {like}({mutant.after}) :", mutant)
            self.put("\n")
        if not statement:  # an error about two types names this line
            self.put(f"{void}({mutants[0].before})\n", Mutant(-first, "", 0, "", "", "", first))
        self.put("} else\n" if statement else f")\n: {void}(")
        self.sites_open.append(first)
        k = self.span(site.begin, site.end, k)
        self.sites_open.pop()
        self.put(" }" if statement else "))")
        return k
