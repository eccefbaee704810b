#!/usr/bin/env python3
"""Writes docs/reference/cli.md from the help of the programs in BUILD and of the scripts.

  tools/cli.py BUILD            writes the page: tools/cli.py build/release
  tools/cli.py BUILD --check    exit code 1, and a diff, if the page is out of date; ignores spacing
"""
import difflib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/cli.md"
PROGRAMS = ["gpt", "translate", "recommend", "classify", "vision", "listen", "atoms", "search", "gradus-trace",
            "exercises"]
SCRIPTS = ["./demo.sh", "./test.sh", "./step.sh", "./bench.sh", "tools/docs.sh"]
INTRODUCTION = """# Command line

`tools/cli.py build/release` writes this page from the help of each command. The programs are in `build/release`.

- Subcommands also take `--threads` and `--build-info`.
- Errors are one line on stderr. Exit codes: 0 success; 2 wrong flags, files or values, or a full disk; 130 stopped by
  Ctrl-C and saved.
- [Environment variables](environment.md) set threads, vector width, traces and checks.
- [Train on your text](../guides/applications.md) explains the most useful flags.
"""


def help_of(command, program):
    """The help text, with the program's name instead of its path."""
    run = subprocess.run(command + ["--help"], cwd=ROOT, stdin=subprocess.DEVNULL, text=True, encoding="utf-8",
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = [line.rstrip() for line in run.stdout.replace(command[0], program).split("\n")]
    return "\n".join(lines).strip("\n")


def subcommands(text):
    listed = text.partition("\nSubcommands:\n")[2]
    return re.findall(r"^  (\w+) ", listed, re.MULTILINE)


def page(build):
    parts = [INTRODUCTION]

    def add(heading, text):
        parts.append(f"{heading}\n\n```text\n{text}\n```\n")
    for program in PROGRAMS:
        path = build / program
        if not path.exists():
            sys.exit(f"tools/cli.py: {path} does not exist. Build the programs first, or name another directory.")
        text = help_of([str(path)], program)
        add(f"## {program}", text)
        for name in subcommands(text):
            add(f"### {program} {name}", help_of([str(path), name], program))
    for script in SCRIPTS:
        add(f"## {script}", help_of([str(ROOT / script)], script))
    return "\n".join(parts)


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-") or sys.argv[2:] not in ([], ["--check"]):
        sys.exit(__doc__)
    new = page(Path(sys.argv[1]).resolve())
    if sys.argv[2:] != ["--check"]:
        PAGE.write_text(new, encoding="utf-8")
        return
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    words = [[" ".join(line.split()) for line in text.split("\n")] for text in (old, new)]
    if words[0] != words[1]:
        name = str(PAGE.relative_to(ROOT))
        print("\n".join(difflib.unified_diff(*words, name, "help", n=1, lineterm="")))
        sys.exit(f"{name} is out of date. Run: tools/cli.py {sys.argv[1]}")


if __name__ == "__main__":
    main()
