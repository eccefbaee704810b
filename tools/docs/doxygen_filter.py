#!/usr/bin/env python3
"""Prints a header with comments that Doxygen can read: the description at the top, comments after a declaration,
comments for a group of declarations, and indented formulas."""
import re
import sys

BESIDE = re.compile(r"^(\s*[^/\s#}].*[;,{})\w])\s+// (.*)$")  # a declaration and its comment
FORMULA = re.compile(r"^\s*/// {2,}\S")


def filtered(lines):
    out, in_head, comment, formula = [], True, [], False
    for number, line in enumerate(lines):
        if in_head and line.startswith("//"):
            out.append(("/** @file\n" if number == 0 else "") + " * " + line.lstrip("/ ").replace("\\", "\\\\").replace("<", "\\<"))
            continue
        if in_head:
            in_head = False
            out.append(" */" if number else "")
        line = BESIDE.sub(r"\1  ///< \2", line)
        is_formula = bool(FORMULA.match(line))
        if is_formula != formula:
            indent = re.match(r"\s*", line if is_formula else out[-1])[0]
            out.append(indent + ("/// @code{.unparsed}" if is_formula else "/// @endcode"))
            formula = is_formula
        if not is_formula:
            code, slashes, text = line.partition("///")
            line = code + slashes + re.sub(r"(?<!^)[\\<]", r"\\\g<0>", text)
        out.append(line)
    return out


if __name__ == "__main__":
    print("\n".join(filtered(open(sys.argv[1], encoding="utf-8").read().split("\n"))))
