"""Writes the mutated tree, leaves out what does not compile, and builds the program that runs it.

The tree in build/mutants/tree is this one by symbolic links, with mutated sources in place of their
originals. Each mutated source is compiled for its errors alone until there are none: an error names
a line, the line a mutant, and that one is left out.
"""
import hashlib
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import schemata
import scope
from scope import ROOMS

MAKERS = (*(f"tools/mutate/{name}.py" for name in ("tokens", "expressions", "functions", "operators",
                                                   "statements", "schemata")), "tests/mutation/mutant.h")
TESTS = ("support", "mutation", "derivations") + scope.ROOMS
MODELS = ("examples/listen/listener", "examples/recommend/recommender")  # tested as models/ are
FEW = 8
ROOM_OF_IDS = 1000  # a source's ids begin at a multiple of it: what changes one renumbers few others
ERROR = re.compile(r"^(?P<path>[^\s:]+):(?P<line>\d+):\d+: (?:fatal )?error: ")
INCLUDED = re.compile(r'^#include "gradus/(.+)"', re.MULTILINE)
INSIDE = re.compile(r"^(?P<path>[^\s:]+):(?P<line>\d+):\d+:\s+(?:required from|in .constexpr)")


def link_headers(tree, target, include):
    for path in (target / "ops", include):
        path.mkdir(parents=True, exist_ok=True)
    if not (include / "gradus").exists():
        (include / "gradus").symlink_to(tree)


def link_tree(tree, target, include, written):
    """Symbolic links in `target` to every file of the rooms that the program is made of, but for those
    that are `written` there."""
    wanted = {}
    for room in ROOMS + tuple(f"tests/{name}" for name in TESTS):
        for path in (tree / room).rglob("*"):
            if path.suffix in (".cpp", ".h", ".inc"):
                wanted[target / path.relative_to(tree)] = path
    for path in (tree / "gradus.h", *(tree / f"{model}{suffix}" for model in MODELS for suffix in (".h", ".cpp"))):
        if path.exists():
            wanted[target / path.relative_to(tree)] = path
    for link in [p for p in target.rglob("*") if not p.is_dir()]:
        if link not in wanted:
            link.unlink()
    for link, path in wanted.items():
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.exists() and not link.is_symlink() and link not in written:  # mutated once, and no more:
            replace(link, path.read_text())  # a link would be older than the object that has the mutants
        if not link.exists():
            link.symlink_to(path)
    include.mkdir(exist_ok=True)
    if not (include / "gradus").exists():
        (include / "gradus").symlink_to(target)


# What is different before there are mutants: the length of a loop's chunks is a variable, so that small
# samples have several; and no kernel is inlined whatever it costs, which with its mutants never ends.
CHANGES = {"base/parallel.h": (("inline constexpr std::int64_t kCheapGrain", "inline std::int64_t kCheapGrain"),
                               ("\nconstexpr std::int64_t rows_grain", "\ninline std::int64_t rows_grain")),
           "base/simd.h": (("inline __attribute__((always_inline))", "inline"),)}


def prepared(tree, path):
    text = (tree / path).read_text()
    for before, after in CHANGES.get(path, ()):
        if before not in text:
            raise SystemExit(f"mutate: {path} has no '{before.strip()}' any more")
        text = text.replace(before, after)
    return text + "#define GRADUS_SHORT_CHUNKS\n" * (path == "base/parallel.h")


def replace(path, text):
    """Writes what is different, so that nothing else is compiled again."""
    if not path.is_symlink() and path.exists() and path.read_text() == text:
        return
    path.unlink(missing_ok=True)
    path.write_text(text)


class Mutated:
    """One source of the tree, with its mutants."""

    def __init__(self, tree, path, public, first, unread, lines=None):
        self.path, self.text = path, prepared(tree, path)
        self.source, sites = schemata.read(path, self.text, public, unread)
        if lines is not None:
            sites = [site for site in sites if lines.intersection(self.source.lines_between(site.begin, site.end))]
        self.numbered, self.next, self.excuses = schemata.number(self.source, sites, first)
        self.mutants = {m.id: m for _, mutants in self.numbered for m in mutants}
        self.without, self.lines = set(), {}

    def write(self, target):
        writer = schemata.Writer(self.source, self.numbered, self.without)
        replace(target / self.path, writer.write())
        self.lines = writer.lines

    def leave_out(self, owner):
        """A mutant, or all of a site. False if they are out already."""
        bad = {owner} if owner > 0 else {m for m, mutant in self.mutants.items() if mutant.site == -owner}
        new = bad - self.without
        self.without |= bad
        return bool(new)


class Tree:
    """All mutated sources; or `only` some .cpp, which are then compiled with this tree's headers; or what
    is on the lines that are `changed`, by path."""

    def __init__(self, root, build, say, only=(), changed=None):
        self.root, self.build, self.say, self.only, self.changed = root, build, say, only, changed
        self.target, self.include, self.memory = build / "tree", build / "include", build / "compiles.json"
        self.unread, self.sources, first = [], {}, 1
        public = scope.differentiable(root)
        for path in only or scope.files(root):
            if changed is not None and path not in changed:
                continue
            lines = None if changed is None else changed[path]
            mutated = Mutated(root, path, public, first, self.unread, lines)
            if mutated.mutants:
                self.sources[path] = mutated
                first = (mutated.next // ROOM_OF_IDS + 1) * ROOM_OF_IDS

    def mutants(self):
        return {i: m for s in self.sources.values() for i, m in s.mutants.items() if i not in s.without}

    def excuses(self):
        return [excuse for s in self.sources.values() for excuse in s.excuses]

    def keys(self):
        """What says that a source is the one whose complaints are remembered: comments are no part of it."""
        makers = "".join((self.root / name).read_text() for name in MAKERS)
        keys = {}
        for path, s in self.sources.items():
            words = [token.text for token in s.source.tokens] + [str(len(s.mutants))]
            keys[path] = hashlib.sha256(" ".join([makers, path, *words]).encode()).hexdigest()
        return keys

    def remember(self):
        keys = self.keys()
        self.memory.write_text(json.dumps({keys[path]: sorted(i - min(s.mutants) for i in s.without)
                                           for path, s in self.sources.items()}))

    def write(self, jobs):
        if self.only:
            link_headers(self.root, self.target, self.include)
        else:
            written = {self.target / path for path in (*self.sources, *CHANGES)}
            link_tree(self.root, self.target, self.include, written)
            for path in CHANGES:  # also where nothing in it is mutated
                if path not in self.sources:
                    replace(self.target / path, prepared(self.root, path))
        keys, fresh = self.keys(), []
        before = json.loads(self.memory.read_text()) if self.memory.exists() else {}
        for path, source in self.sources.items():
            first = min(source.mutants)
            if keys[path] in before:
                source.without = {first + k for k in before[keys[path]]}
            else:
                fresh.append(path)
            source.write(self.target)
        if fresh:
            self.settle(fresh, jobs)

    def settle(self, fresh, jobs):
        """Leaves out what does not compile: headers first with a few of the sources that include them, then
        the sources; and where all is mutated, whatever uses it. What is left, building the program shows."""
        includes = self.includes()
        users = sorted(u for u, seen in includes.items() if u.endswith(".cpp") and seen.intersection(fresh)
                       and not scope.APART.search(u))
        headers = {path for path in fresh if path.endswith(".h")}
        self.compile(few_that_see(headers, users, includes), jobs)
        self.compile(users if self.changed is None else [path for path in fresh if path not in headers], jobs)
        self.remember()

    def compile(self, units, jobs):
        """Until there are no complaints. As many sources complain of one header, and of the next one only
        when that is mended, a few of them go first."""
        while units := self.complaints(units, jobs):
            if len(units) > FEW:
                self.compile(units[::len(units) // FEW + 1], jobs)

    def complaints(self, units, jobs):
        """Leaves out what the compiler complains of; returns the sources in which it does."""
        self.say(f"compiling {len(units)} sources for their errors")
        with ThreadPoolExecutor(jobs) as pool:
            outputs = dict(zip(units, pool.map(self.errors, units)))
        units = [unit for unit, output in outputs.items() if output]
        if units:
            self.leave_out("".join(outputs.values()))
        return units

    def leave_out(self, output):
        """The mutants that a compiler complains of; writes the sources again."""
        if not self.learn(output):
            raise SystemExit("mutate: this does not compile, and no mutant is in it:\n" + output[:4000])
        for source in self.sources.values():
            source.write(self.target)
        self.remember()

    def includes(self):
        """path → itself and what it includes, in however many steps; of sources and tests."""
        paths = [str(p.relative_to(self.target)) for p in self.target.rglob("*") if p.suffix in (".cpp", ".h")]
        direct = {path: set(INCLUDED.findall((self.target / path).read_text())) for path in paths}

        def all_of(path, seen):
            if path not in seen and path in direct:
                seen.add(path)
                for header in direct[path]:
                    all_of(header, seen)
            return seen

        return {path: all_of(path, set()) for path in paths}

    def errors(self, unit):
        command = ["c++", "-std=c++20", "-fsyntax-only", "-w", "-fmax-errors=0", "-DGRADUS_BLAS_PLAIN",
                   '-DGRADUS_SOURCE_DIR=""', '-DGRADUS_BINARY_DIR=""', '-DGRADUS_VERSION=""',
                   "-I", str(self.include), str(self.target / unit)]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"})
        return done.stderr if done.returncode else ""

    def learn(self, output):
        """Leaves out what the errors point at: mutants that they or their instantiations lie in; where
        there is none, whole sites."""
        first = {found[0] for stretch in stretches(output) if (found := self.owners(stretch))}
        certain = {owner for owner in first if owner[1] > 0}
        sources = {path for path, _ in certain}  # a site may be wrong only because of a mutant in it
        suspects = {owner for owner in first if owner[1] < 0 and owner[0] not in sources}
        return any([self.sources[path].leave_out(owner) for path, owner in sorted(certain | suspects)])

    def owners(self, stretch):
        """(source, owner of a line) for the lines that one error names, mutants before sites."""
        found = []
        for path, line in stretch:
            path = os.path.normpath(self.build / "build" / path)  # a compiler cache may shorten it
            for prefix in (str(self.target), str(self.include / "gradus")):
                source = self.sources.get(os.path.relpath(path, prefix)) if path.startswith(prefix) else None
                if source and int(line) in source.lines:
                    found.append((source.path, source.lines[int(line)]))
        return sorted(found, key=lambda owner: owner[1] < 0)


def few_that_see(wanted, units, includes):
    """Some of `units` that together see as much of what is wanted as all of them."""
    some, units = [], list(units)
    while units:
        best = max(units, key=lambda unit: len(wanted & includes[unit]))
        if not wanted & includes[best]:
            break
        some.append(best)
        wanted = wanted - includes[best]
    return some


def stretches(output):
    """For each error the places that it names, its own first, then where it was instantiated from."""
    places = []
    for line in output.splitlines():
        if error := ERROR.match(line):
            yield [(error["path"], error["line"])] + places[::-1]
            places = []
        elif inside := INSIDE.match(line):
            places.append((inside["path"], inside["line"]))
