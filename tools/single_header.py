#!/usr/bin/env python3
"""Writes gradus_check.hpp, the checker for plain arrays as one header that needs only the standard library.

    tools/single_header.py              writes build/gradus_check.hpp
    tools/single_header.py -o FILE      writes FILE
"""
import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ["check/raw/check.h", "check/raw/smallest.h"]
INCLUDE = re.compile(r'#include "gradus/(.*)"')
STANDARD = re.compile(r"#include <.*>")

OPENING = """\
// Gradus {version}: checks a derivative against finite differences.
// {copyright}. SPDX-License-Identifier: MIT. The license is at the end.
//
//   #include "gradus_check.hpp"  // g++ -std=c++20 test.cpp
//   const auto report = gradus::check::raw("softmax", softmax, softmax_vjp, x);
//   if (!report) std::cerr << report;
//
// tools/single_header.py made this file from the headers in check/raw. The guide is
// docs/checking/cpp.md.
#pragma once
"""


class SingleHeader:
    """Inlines each header once, where it is first included. Standard headers are also included once."""

    def __init__(self):
        self.lines, self._seen = [], {}

    def add(self, path, condition=()):
        """Adds a file that is included inside the #if lines of `condition`."""
        if self._is_repeated(path, condition):
            return
        self.lines += ["", f"// ======== {path}"]
        open_conditions = list(condition)
        for line in (ROOT / path).read_text(encoding="utf-8").splitlines():
            included = INCLUDE.match(line)
            if included:
                self.add(included[1], tuple(open_conditions))
            elif line != "#pragma once" and not (STANDARD.match(line) and self._is_repeated(line, open_conditions)):
                self.lines.append(line)
            if re.match("#if", line):
                open_conditions.append(line)
            elif re.match("#el", line):
                open_conditions[-1] += line
            elif re.match("#endif", line):
                open_conditions.pop()

    def _is_repeated(self, name, condition):
        """True if `name` is included whenever `condition` holds."""
        before = self._seen.setdefault(name, None)
        if before is None:
            self._seen[name] = tuple(condition)
            return False
        if tuple(condition[:len(before)]) == before:
            return True
        if name.startswith("#"):
            return False  # a standard header may be included again
        raise SystemExit(f"single_header: {name} was inlined inside {before} and is also needed outside. "
                         "Include it outside first.")


def version():
    text = (ROOT / "engine/base/version.h").read_text(encoding="utf-8")
    return ".".join(re.findall(r"#define GRADUS_VERSION_\w+ (\d+)", text))


def single_header():
    license_text = (ROOT / "LICENSE").read_text(encoding="utf-8").rstrip()
    copyright_line = re.search("Copyright .*", license_text)[0]
    header = SingleHeader()
    for part in PARTS:
        header.add(part)
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(header.lines))
    ending = "\n".join(f"// {line}".rstrip() for line in license_text.splitlines())
    return f"{OPENING.format(version=version(), copyright=copyright_line)}{body}\n\n{ending}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", metavar="FILE", type=Path, default=ROOT / "build" / "gradus_check.hpp")
    to = parser.parse_args().o
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(single_header(), encoding="utf-8")
    print(to)


if __name__ == "__main__":
    main()
