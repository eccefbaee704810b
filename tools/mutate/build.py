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

MAKERS = ("tokens", "expressions", "functions", "scope", "operators", "statements", "schemata")
ROOMS = ("base", "engine", "ops", "nn", "models", "check")
TESTS = ("support", "base", "engine", "nn", "models", "ops", "mutation")
ERROR = re.compile(r"^(?P<path>[^\s:]+):(?P<line>\d+):\d+: (?:fatal )?error: ")
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
            if path.suffix in (".cpp", ".h"):
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
    for link, path in ((include / "gradus", target), (target / "docs", tree / "docs")):  # tests read some pages
        if not link.exists():
            link.symlink_to(path)


def chunks_by_choice(tree, target):
    """How long the chunks of a loop are becomes a variable, so that small samples can have several."""
    text = (tree / "base/parallel.h").read_text()
    for before, after in (("inline constexpr std::int64_t kCheapGrain", "inline std::int64_t kCheapGrain"),
                          ("\nconstexpr std::int64_t rows_grain", "\ninline std::int64_t rows_grain"),
                          ("#pragma once", "#pragma once\n#define GRADUS_SHORT_CHUNKS")):
        if before not in text:
            raise SystemExit(f"mutate: base/parallel.h has no '{before.strip()}' any more")
        text = text.replace(before, after)
    replace(target / "base/parallel.h", text)


def replace(path, text):
    """Writes what is different, so that nothing else is compiled again."""
    if not path.is_symlink() and path.exists() and path.read_text() == text:
        return
    path.unlink(missing_ok=True)
    path.write_text(text)


class Mutated:
    """One source of the tree, with its mutants."""

    def __init__(self, tree, path, public, first, unread, lines=None):
        self.path, self.text = path, (tree / path).read_text()
        self.source, sites = schemata.read(path, self.text, public, scope.in_scope, unread)
        if lines is not None:
            sites = [site for site in sites if lines.intersection(self.source.lines_between(site.begin, site.end))]
        self.numbered, self.next = schemata.number(self.source, sites, first)
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
        self.target, self.include = build / "tree", build / "include"
        self.unread, self.sources, first = [], {}, 1
        public = scope.differentiable(root)
        for path in only or scope.files(root):
            if changed is not None and path not in changed:
                continue
            lines = None if changed is None else changed[path]
            mutated = Mutated(root, path, public, first, self.unread, lines)
            if mutated.mutants:
                self.sources[path], first = mutated, mutated.next

    def mutants(self):
        return {i: m for s in self.sources.values() for i, m in s.mutants.items() if i not in s.without}

    def known(self):
        """What did not compile the last time these very sources were tried."""
        key = hashlib.sha256()
        makers = [self.root / "tools/mutate" / f"{name}.py" for name in MAKERS]
        for path in makers + sorted(p for room in ROOMS for p in (self.root / room).rglob("*.h")):
            key.update(path.read_bytes())
        base = key.hexdigest()
        if self.changed is not None:
            base += repr({path: sorted(self.changed[path]) for path in self.sources})
        return {path: hashlib.sha256((base + s.text).encode()).hexdigest() for path, s in self.sources.items()}

    def write(self, jobs):
        if self.only:
            link_headers(self.root, self.target, self.include)
        else:
            written = {self.target / path for path in (*self.sources, "base/parallel.h")}
            link_tree(self.root, self.target, self.include, written)
            chunks_by_choice(self.root, self.target)
        memory, keys = self.build / "compiles.json", self.known()
        before = json.loads(memory.read_text()) if memory.exists() else {}
        fresh = []
        for path, source in self.sources.items():
            first = min(source.mutants)
            if keys[path] in before:
                source.without = {first + k for k in before[keys[path]]}
            else:
                fresh.append(path)
            source.write(self.target)
        if fresh:
            self.settle(fresh, jobs)
        memory.write_text(json.dumps({keys[path]: sorted(i - min(s.mutants) for i in s.without)
                                      for path, s in self.sources.items()}))

    def settle(self, fresh, jobs):
        units = [path for path in fresh if path.endswith(".cpp")]
        if any(path.endswith(".h") for path in fresh):  # a header is compiled where it is used
            units = [path for path in self.sources if path.endswith(".cpp")]
            if self.changed is not None:
                units = self.users()
        for turn in range(25):
            self.say(f"compiling {len(units)} mutated sources for their errors, turn {turn + 1}")
            with ThreadPoolExecutor(jobs) as pool:
                outputs = dict(zip(units, pool.map(self.errors, units)))
            units = [unit for unit, output in outputs.items() if output]
            if not units:
                return
            if not self.learn([output for output in outputs.values() if output]):
                raise SystemExit("mutate: this does not compile, and no mutant is in it:\n"
                                 + "\n".join(outputs[unit][:1500] for unit in units))
            for source in self.sources.values():
                source.write(self.target)
        raise SystemExit("mutate: still errors after 25 turns")

    def users(self):
        """Every .cpp that is mutated, or includes what is, in however many steps."""
        texts = {str(p.relative_to(self.root)): p.read_text() for room in ROOMS
                 for p in (self.root / room).rglob("*") if p.suffix in (".cpp", ".h")}
        found, more = set(), set(self.sources)
        while more:
            found |= more
            more = {path for path, text in texts.items() if path not in found
                    and any(f'"gradus/{header}"' in text for header in more)}
        return sorted(path for path in found if path.endswith(".cpp"))

    def errors(self, unit):
        command = ["c++", "-std=c++20", "-fsyntax-only", "-w", "-fmax-errors=0", "-DGRADUS_BLAS_PLAIN",
                   "-I", str(self.include), str(self.target / unit)]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"})
        return done.stderr if done.returncode else ""

    def learn(self, outputs):
        """Leaves out what the errors point at: mutants that they or their instantiations lie in; where
        there is none, whole sites."""
        owners = [self.owners(stretch) for output in outputs for stretch in stretches(output)]
        certain = {owner for found in owners for owner in found[:1] if owner[1] > 0}
        suspects = {owner for found in owners for owner in found[:1]}
        moved = [self.sources[path].leave_out(owner) for path, owner in sorted(certain or suspects)]
        return any(moved)

    def owners(self, stretch):
        """(source, owner of a line) for the lines that one error names, mutants before sites."""
        found = []
        for path, line in stretch:
            for prefix in (str(self.target), str(self.include / "gradus")):
                source = self.sources.get(os.path.relpath(path, prefix)) if path.startswith(prefix) else None
                if source and int(line) in source.lines:
                    found.append((source.path, source.lines[int(line)]))
        return sorted(found, key=lambda owner: owner[1] < 0)


def stretches(output):
    """For each error the places that it names, its own first, then where it was instantiated from."""
    places = []
    for line in output.splitlines():
        if error := ERROR.match(line):
            yield [(error["path"], error["line"])] + places[::-1]
            places = []
        elif inside := INSIDE.match(line):
            places.append((inside["path"], inside["line"]))
