#!/usr/bin/env python3
"""documented.py DOCUMENT FOLDER… checks that files of the folders have each line of the document's examples."""
import pathlib
import re
import sys


def main():
    document, *folders = map(pathlib.Path, sys.argv[1:])
    sources = [f for folder in folders for f in folder.rglob("*") if f.is_file()]
    lines = {line.strip() for file in sources for line in file.read_text(encoding="utf-8").splitlines()}
    blocks = re.findall(r"```(?:cpp|cmake|python)\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)
    shown = {line.strip() for block in blocks for line in block.splitlines() if line.strip()}
    missing = sorted(shown - lines)
    if missing or not shown:
        sys.exit(f"{document}: lines that no tested file has: {missing}")


if __name__ == "__main__":
    main()
