#!/usr/bin/env python3
"""Checks what libgradus.so exports, and compares the binary interface of two commits.

    tools/abi.py exports [BUILD]     each export of BUILD/libgradus.so (default: build/shared, which is made) is declared
                                     and described in an installed header; inline functions of headers find what they call
    tools/abi.py compare OLD [NEW]   builds two commits (NEW: HEAD) and runs abidiff. Exit code 1 if programs that were
                                     linked with OLD need to be compiled again

compare needs abidiff (abigail-tools)."""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import undocumented

ROOT = Path(__file__).resolve().parent.parent
NAME = re.compile(r"(\d+)")
INTERNAL = undocumented.INSIDE | {"gemm", "math64"}


def build(tree, into, *options):
    """Builds the shared library of a source tree."""
    subprocess.run(["cmake", "-G", "Ninja", "-S", tree, "-B", into, "-DBUILD_SHARED_LIBS=ON", "-DGRADUS_MPI=OFF",
                    "-DGRADUS_BUILD_TESTS=OFF", "-DGRADUS_BUILD_EXAMPLES=OFF", *options], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", into, "--target", "gradus"], check=True, stdout=subprocess.DEVNULL)
    return into / "libgradus.so"


def described_names():
    """gradus::nn::Linear and every other documented class and function in an installed header."""
    names = set()
    for header in undocumented.installed_headers():
        lines = header.read_text(encoding="utf-8").split("\n")
        names |= {"::".join(around + [name]) for _, around, name, described in undocumented.declarations(lines)
                  if described}
    return names


def enclosing_names(symbol):
    """[gradus, gradus::nn, gradus::nn::Linear, …] of a mangled name."""
    start = re.match(r"_Z(?:T[VTIS]|Th[n\d]*_|Tv[n\d_]*_|GV)?N?V?K?(?=\d)", symbol)
    parts, at = [], start.end() if start else len(symbol)
    while match := NAME.match(symbol, at):
        at = match.end() + int(match[1])
        parts.append(symbol[match.end():at])
    if re.match(r"[a-z][a-zA-Z]E", symbol[at:]):
        parts.append("operator")  # pl for +, ls for <<
    return ["::".join(parts[:count]) for count in range(1, len(parts) + 1)]


def exports(library):
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    symbols = [line.split()[-1].split("@")[0] for line in listed.splitlines()]
    names = described_names()
    strange = [each for each in symbols if not each.startswith("GRADUS_") and not any(
        name in names or name.endswith("::operator") for name in enclosing_names(each))]
    print(f"{len(symbols)} exports, {len(strange)} without a description")
    if strange:
        shown = subprocess.run(["c++filt"], input="\n".join(strange), capture_output=True, text=True).stdout
        print(shown)
    return not strange


def headers_link(library):
    """Compiles every inline function of the installed headers, and links them with the library."""
    headers = [each.relative_to(ROOT) for each in undocumented.installed_headers()]
    text = "".join(f'#include "gradus/{each}"\n' for each in headers if "adapters" not in each.parts
                   and each.name != "catch2.h")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["c++", "-std=c++20", "-O0", "-fkeep-inline-functions", "-I", library.parent / "include",
                               "-x", "c++", "-", "-o", f"{folder}/a.out", "-L", library.parent, "-lgradus"],
                              input=text + "int main() {}\n", capture_output=True, text=True)
    missing = set()
    for calls, callee in re.findall(r"in function `(.*)':\n.*undefined reference to `(.*)'", done.stderr):
        if not set(re.findall(r"\w+", calls.split("(")[0])) & INTERNAL:
            missing.add(f"{calls} calls {callee}, which is not exported")
    print("\n".join(sorted(missing)) or "inline functions find what they call")
    return not missing


def compare(old, new):
    if not shutil.which("abidiff"):
        sys.exit("abi.py: abidiff is not installed. Run apt-get install abigail-tools")
    libraries = []
    with tempfile.TemporaryDirectory() as folder:
        for name, commit in [("old", old), ("new", new)]:
            tree = Path(folder, name)
            subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, commit], cwd=ROOT, check=True)
            try:
                libraries.append(build(tree, Path(folder, f"build-{name}"), "-DCMAKE_BUILD_TYPE=Debug"))
            finally:
                subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
        done = subprocess.run(["abidiff", "--no-added-syms", *libraries])
    return done.returncode == 0


def main():
    command, *rest = sys.argv[1:] or [""]
    if command == "exports" and len(rest) <= 1:
        library = Path(rest[0], "libgradus.so").resolve() if rest else build(ROOT, ROOT / "build/shared")
        good = exports(library)
        return 0 if headers_link(library) and good else 1
    if command == "compare" and 1 <= len(rest) <= 2:
        return 0 if compare(rest[0], rest[1] if rest[1:] else "HEAD") else 1
    print(__doc__, file=sys.stderr if command not in ("--help", "-h") else sys.stdout)
    return 0 if command in ("--help", "-h") else 2


if __name__ == "__main__":
    sys.exit(main())
