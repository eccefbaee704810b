#!/usr/bin/env python3
"""Prints which folders of the library include which, according to their sources.

    tools/includes.py           the graph, one folder per line
    tools/includes.py --check   exit code 1 if docs/architecture.md shows another graph"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["engine/base", "engine/gemm", "engine", "ops", "nn", "nn/extras", "nn/models", "train/optim", "io",
           "io/pretrained", "trace", "check/raw", "check/c", "check/adapters", "check", "train/distributed", "train"]
DOCUMENT = ROOT / "docs/architecture.md"


def folder_of(path):
    """The innermost of FOLDERS that contains this file, or None."""
    return max((each for each in FOLDERS if path.startswith(each + "/")), key=len, default=None)


def graph():
    seen = {each: set() for each in FOLDERS}
    names = (str(each.relative_to(ROOT)) for top in sorted({f.split("/")[0] for f in FOLDERS})
             for each in (ROOT / top).rglob("*.*") if each.suffix in (".h", ".cpp"))
    for name in names:
        home = folder_of(name)
        for included in re.findall(r'^#include "gradus/(.+)"', (ROOT / name).read_text(), re.MULTILINE) if home else []:
            seen[home].add(folder_of(included))
    return "".join(f"{each:18} {'  '.join(other for other in FOLDERS if other in seen[each] - {each})}".rstrip() + "\n"
                   for each in FOLDERS)


def main():
    if sys.argv[1:] == ["--check"]:
        if f"```\n{graph()}```" not in DOCUMENT.read_text():
            sys.exit(f"{DOCUMENT.relative_to(ROOT)} differs from the output of tools/includes.py. Paste the output into it")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        print(graph(), end="")


if __name__ == "__main__":
    main()
