#!/usr/bin/env python3
"""Prints the size of each component and the largest files and functions. Nothing fails.

    tools/size.py            lines of code, without blank lines and comments
    tools/size.py --most N   N files and functions (default 15)"""
import argparse
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPENS = re.compile(r"^( {0,2})(?!namespace|class|struct|union|enum|extern|else|try|do\b|for|if|while|switch|[}/# ])\S.*\{$")


def sources():
    names = subprocess.run(["git", "ls-files", "*.h", "*.cpp"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(name) for name in names.stdout.split()]


def is_code(line):
    return bool(line.strip()) and not line.strip().startswith("//")


def functions(lines):
    """(name, first line, lines) of bodies that clang-format closes in the column where they open."""
    for start, line in enumerate(lines):
        match = OPENS.match(line)
        if not match or line.endswith("= {"):
            continue
        close = match[1] + "}"
        for end in range(start + 1, len(lines)):
            if lines[end].startswith(close):
                head = " ".join(each.strip() for each in lines[max(0, start - 2):start + 1])
                name = re.findall(r"([\w~:]+)\(", head) or ["?"]
                yield name[-1] if len(name) == 1 else name[0], start + 1, end - start - 1
                break


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=15)
    most = parser.parse_args().most
    components, files, bodies = {}, [], []
    for path in sources():
        lines = (ROOT / path).read_text().splitlines()
        code = sum(map(is_code, lines))
        component = path.parts[0] if len(path.parts) > 1 else "."
        components[component] = components.get(component, 0) + code
        files.append((code, path))
        bodies += [(length, f"{path}:{first} {name}") for name, first, length in functions(lines)]
    print("lines of code")
    for component, code in sorted(components.items(), key=lambda each: -each[1]):
        print(f"{code:8,}  {component}")
    print("\nlargest files")
    for code, path in sorted(files, reverse=True)[:most]:
        print(f"{code:8,}  {path}")
    print("\nlongest functions")
    for length, name in sorted(bodies, reverse=True)[:most]:
        print(f"{length:8,}  {name}")


if __name__ == "__main__":
    main()
