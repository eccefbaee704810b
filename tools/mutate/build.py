"""Writes the mutated tree, without mutants that do not compile.

build/mutants/tree contains symbolic links to this tree, with mutated sources in place of the originals. The mutated
sources are first compiled only to find errors. Each error names a line, and therefore a mutant, which is left out.
This repeats until there are no errors.
"""
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import schemata

COMPONENTS = ("engine", "ops", "nn", "train", "io", "trace", "check")
APART = re.compile(  # only tests of other programs reach these
    r"train/distributed/(mpi/|faults/side_channel)|check/adapters/|engine/gemm/library")
TESTS = ("support", "mutation", "derivations") + COMPONENTS
MODELS = ("examples/apps/listen/listener", "examples/apps/recommend/recommender")  # used by the tests of nn/models/
# With always_inline, a kernel with its mutants would take hours to compile.
CHANGES = {"engine/base/simd.h": ("inline __attribute__((always_inline))", "inline")}
ERROR = re.compile(r"^(?P<path>[^\s:]+):(?P<line>\d+):\d+: (?:fatal )?error: ")
INCLUDED = re.compile(r'^#include "gradus/(.+)"', re.MULTILINE)
INSIDE = re.compile(r"^(?P<path>[^\s:]+):(?P<line>\d+):\d+:\s+(?:required from|in .constexpr)")


def library(root):
    """Paths of the sources that can be mutated, relative to the root."""
    return sorted(str(p.relative_to(root)) for component in COMPONENTS for p in (root / component).rglob("*")
                  if p.suffix in (".cpp", ".h") and not APART.search(str(p)))


def prepared(root, path):
    text = (root / path).read_text()
    if path in CHANGES:
        before, after = CHANGES[path]
        if before not in text:
            raise SystemExit(f"run.py: {path} does not contain '{before}'; update CHANGES in tools/mutate/build.py")
        text = text.replace(before, after)
    return text


def replace(path, text):
    """Writes the file only if its text differs, so that ninja compiles nothing else."""
    if not path.is_symlink() and path.exists() and path.read_text() == text:
        return
    path.unlink(missing_ok=True)
    path.write_text(text)


def link_tree(root, target, written):
    """Links every file that the program needs into `target`, except the files in `written`."""
    wanted = {target / "gradus.h": root / "gradus.h"}
    for folder in COMPONENTS + tuple(f"tests/{name}" for name in TESTS):
        for path in (root / folder).rglob("*"):
            if path.suffix in (".cpp", ".h", ".inc"):
                wanted[target / path.relative_to(root)] = path
    for name in (f"{model}{suffix}" for model in MODELS for suffix in (".h", ".cpp")):
        if (root / name).exists():
            wanted[target / name] = root / name
    for link in [p for p in target.rglob("*") if not p.is_dir()]:
        if link not in wanted:
            link.unlink()
    for link, path in wanted.items():
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.exists() and not link.is_symlink() and link not in written:
            replace(link, path.read_text())  # mutated in the last run: a link would look older than its object
        if not link.exists():
            link.symlink_to(path)


class Mutated:
    """A source with its mutants, or with those on `lines` if given."""

    def __init__(self, root, path, first, unread, lines=None):
        self.path = path
        self.source, sites = schemata.read(path, prepared(root, path), unread)
        if lines is not None:
            sites = [site for site in sites if lines.intersection(self.source.lines_between(site.begin, site.end))]
        self.numbered = schemata.number(self.source, sites, first)
        self.mutants = {m.id: m for _, mutants in self.numbered for m in mutants}
        self.without, self.lines = set(), {}

    def write(self, target):
        writer = schemata.Writer(self.source, self.numbered, self.without)
        replace(target / self.path, writer.write())
        self.lines = writer.lines

    def leave_out(self, owner):
        """Leaves out one mutant, or all mutants of a site. Returns False if they were left out already."""
        bad = {owner} if owner > 0 else {i for i, mutant in self.mutants.items() if mutant.site == -owner}
        new = bad - self.without
        self.without |= bad
        return bool(new)


class Tree:
    """The mutated tree in `build`. `changed` maps a path to the lines to mutate; None means all lines."""

    def __init__(self, root, build, say, changed=None):
        self.root, self.build, self.say = root, build, say
        self.target, self.include = build / "tree", build / "include"
        self.unread, self.sources, first = [], {}, 1
        for path in library(root):
            if changed is not None and path not in changed:
                continue
            mutated = Mutated(root, path, first, self.unread, None if changed is None else changed[path])
            if mutated.mutants:
                self.sources[path] = mutated
                first = max(mutated.mutants) + 1

    def mutants(self):
        return {i: m for s in self.sources.values() for i, m in s.mutants.items() if i not in s.without}

    def write(self, jobs):
        self.target.mkdir(parents=True, exist_ok=True)
        self.include.mkdir(exist_ok=True)
        if not (self.include / "gradus").exists():
            (self.include / "gradus").symlink_to(self.target)
        link_tree(self.root, self.target, {self.target / path for path in (*self.sources, *CHANGES)})
        for path in CHANGES:
            if path not in self.sources:
                replace(self.target / path, prepared(self.root, path))
        for source in self.sources.values():
            source.write(self.target)
        includes = self.includes()
        units = sorted(path for path in includes if path.endswith(".cpp") and not APART.search(path))
        headers = {path for path in self.sources if path.endswith(".h")}
        self.settle(few_that_see(headers, units, includes), jobs)
        self.settle([path for path in self.sources if path.endswith(".cpp")], jobs)

    def settle(self, units, jobs):
        """Compiles the units until the mutants left have no errors."""
        while units:
            self.say(f"checking that mutants compile in {len(units)} sources")
            with ThreadPoolExecutor(jobs) as pool:
                outputs = dict(zip(units, pool.map(self.errors, units)))
            units = [unit for unit, output in outputs.items() if output]
            if units:
                self.leave_out("".join(outputs.values()))

    def leave_out(self, output):
        """Leaves out the mutants named in the output of a compiler, and writes the sources again."""
        if not self.learn(output):
            errors = [line for line in output.splitlines() if ": error: " in line or "fatal error" in line]
            raise SystemExit("\n".join(["run.py: an error outside of all mutants:", *(errors or [output])[:20]]))
        for source in self.sources.values():
            source.write(self.target)

    def includes(self):
        """path → the path itself and all headers it includes, directly or not."""
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
        command = ["c++", "-std=c++20", "-fsyntax-only", "-w", "-fmax-errors=0",
                   '-DGRADUS_SOURCE_DIR=""', '-DGRADUS_BINARY_DIR=""',
                   "-I", str(self.include), str(self.target / unit)]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"})
        return done.stderr if done.returncode else ""

    def learn(self, output):
        """Leaves out the mutants that contain the errors or their instantiations. An error elsewhere in a site removes
        the entire site, unless its source has errors in certain mutants."""
        first = {found[0] for stretch in stretches(output) if (found := self.owners(stretch))}
        certain = {owner for owner in first if owner[1] > 0}
        sources = {path for path, _ in certain}
        suspects = {owner for owner in first if owner[1] < 0 and owner[0] not in sources}
        return any([self.sources[path].leave_out(owner) for path, owner in sorted(certain | suspects)])

    def owners(self, stretch):
        """(source, owner of a line) for the lines that an error names, mutants before sites."""
        found = []
        for path, line in stretch:
            path = os.path.normpath(self.build / "build" / path)  # a compiler cache may shorten it
            for prefix in (str(self.target), str(self.include / "gradus")):
                source = self.sources.get(os.path.relpath(path, prefix)) if path.startswith(prefix) else None
                if source and int(line) in source.lines:
                    found.append((source.path, source.lines[int(line)]))
        return sorted(found, key=lambda owner: owner[1] < 0)


def few_that_see(wanted, units, includes):
    """A subset of the units that includes every wanted header that any unit includes."""
    some = []
    while units:
        best = max(units, key=lambda unit: len(wanted & includes[unit]))
        if not wanted & includes[best]:
            break
        some.append(best)
        wanted = wanted - includes[best]
    return some


def stretches(output):
    """The locations of each error: its own, then those of its instantiations."""
    places = []
    for line in output.splitlines():
        if error := ERROR.match(line):
            yield [(error["path"], error["line"])] + places[::-1]
            places = []
        elif inside := INSIDE.match(line):
            places.append((inside["path"], inside["line"]))
