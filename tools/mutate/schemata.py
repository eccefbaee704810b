"""All mutants of a source in one source: which one runs is a number that is set while it runs.

Each site becomes `(gradus_mutant_among(7, 9) ? … : what stood there)`. Every mutant has lines of its own,
so that a compiler's complaint names it; it is then left out, and the source written again.
"""
from dataclasses import dataclass

from excuses import Excuse, excuses_of
from functions import functions_of
from scope import bears_derivatives
from statements import Walker
from tokens import Source, Unreadable, without_comments

CONSTANTS = {"__builtin_shufflevector"}  # takes constants alone
INCLUDE = '#include "gradus/tests/mutation/mutant.h"\n'


@dataclass
class Mutant:
    id: int
    path: str
    line: int
    text: str  # the line, without the blanks around it
    fault: str
    before: str
    after: str
    site: int = 0  # the id of its site's first mutant: coverage is noted by site
    strict: bool = False  # in what bears derivatives
    excuse: Excuse = None

    def shown(self):
        after = self.after if self.after else "nothing"
        return f"{self.path}:{self.line}: {self.fault}: {self.before}  ⇒  {after}"


def read(path, text, public, unread):
    """The source, and its sites, in order, outer ones before those inside them."""
    source = Source(text, path)
    functions, sites = functions_of(source), []
    strict = {function.body for function in bears_derivatives(path, functions, public)}
    for function in functions:
        if "constexpr" in function.returns.split() or function.calls & CONSTANTS:  # not chosen while it runs
            continue
        walker = Walker(source, function, unread)
        try:
            walker.initial(function.initial)
            walker.block(*function.body)
        except Unreadable as why:
            unread.append(f"{path}: {function.name}: {why}")
        for site in walker.sites:
            site.strict = function.body in strict
            if not site.strict:  # seven digits are enough for times, sizes and shares
                site.alternatives = [each for each in site.alternatives if each[0] != "narrowed"]
        sites += [site for site in walker.sites if site.alternatives]
    sites.sort(key=lambda site: (site.begin, -site.end))
    return source, sites


def number(source, sites, first):
    """[(site, its mutants)], ids from `first` on; the id after them; the excuses of this source."""
    numbered, next_id, excuses = [], first, excuses_of(source)
    for site in sites:
        line = source.line(site.token)
        before = " ".join(source.text[site.begin:site.end].split())
        excuse = next((e for e in excuses if e.first <= line <= e.last), None)
        mutants = [Mutant(next_id + k, source.path, line, source.line_text(line), fault, before, after,
                          next_id, site.strict, excuse) for k, (fault, after) in enumerate(site.alternatives)]
        next_id += len(mutants)
        numbered.append((site, mutants))
    return numbered, next_id, excuses


class Writer:
    """Writes the mutated source; `lines` says which mutant a line of it belongs to."""

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
        """Source [begin, end) with the sites from the k-th on that lie in it; returns the next k."""
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
        if not statement:  # what each is compared with: a complaint about two types names its line
            self.put(f"{void}({mutants[0].before})\n", Mutant(-first, "", 0, "", "", "", ""))
        self.put("} else\n" if statement else f")\n: {void}(")
        self.sites_open.append(first)
        k = self.span(site.begin, site.end, k)
        self.sites_open.pop()
        self.put(" }" if statement else "))")
        return k
