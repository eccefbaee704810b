#!/usr/bin/env python3
"""Writes io/pretrained/unicode_tables.inc, what io/pretrained/unicode.cpp knows of characters, from Python's own tables.

    tools/unicode.py         writes the file
    tools/unicode.py check   says whether it is what this Python would write (another Unicode version would not)"""
import sys
import unicodedata
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "io" / "pretrained" / "unicode_tables.inc"
CHARACTERS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
SPACES = {*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
HANGUL = range(0xAC00, 0xD7A4)  # composed by a formula
KINDS = {"L": "letter", "N": "number", "P": "punctuation", "Mn": "mark", "Cc": "control", "Cf": "control",
         "Co": "control"}


def kind(c):
    if ord(c) in SPACES:
        return "space"
    category = unicodedata.category(c)
    return KINDS.get(category) or KINDS.get(category[0])


def ranges(of):
    """[first, last, value] of neighbours with an equal value, where there is one."""
    found = []
    for c in CHARACTERS:
        value = of(c)
        if found and found[-1][1] == ord(c) - 1 and found[-1][2] == value:
            found[-1][1] = ord(c)
        elif value:
            found.append([ord(c), ord(c), value])
    return found


def decompositions():
    """[character, its part] or [character, first part, second], and a 0 where those two do not compose again"""
    found = []
    for c in CHARACTERS:
        parts = unicodedata.decomposition(c)
        if not parts or parts.startswith("<") or ord(c) in HANGUL:
            continue
        codes = [int(part, 16) for part in parts.split()]
        lost = len(codes) == 2 and unicodedata.normalize("NFC", "".join(map(chr, codes))) != c
        found.append([ord(c), *codes] + [0] * lost)
    return found


def lowered():
    """[first, last, step, lower case of the first]: the lower case of the others is as far from them. Of the capital I
    with a dot, the only one that becomes two characters, the first."""
    found = []
    for c in CHARACTERS:
        code, lower = ord(c), ord(c.lower()[0])
        if lower == code:
            continue
        if found:
            first, last, step, to = found[-1]
            if lower - code == to - first and code - last in ([1, 2] if first == last else [step]):
                found[-1][1:3] = code, code - last
                continue
        found.append([code, code, 1, lower])
    return found


def table(declaration, rows):
    lines, line = [], " "
    for row in rows:
        each = " {" + ", ".join(f"{x:#x}" if isinstance(x, int) and x > 255 else str(x) for x in row) + "},"
        if len(line) + len(each) > 118:
            lines.append(line)
            line = " "
        line += each
    return "\n".join([f"constexpr {declaration}[] = {{", *lines, line, "};\n"])


def text():
    return "\n".join([
        f"// Unicode {unicodedata.unidata_version}. Made by tools/unicode.py: do not edit.",
        "// clang-format off",
        "// NOLINTBEGIN(modernize-use-bool-literals): 0 keeps the lines short",
        table("KindRange kKinds", ranges(kind)),
        table("CombiningRange kCombining", ranges(unicodedata.combining)),
        table("Decomposition kDecompositions", decompositions()),
        table("Lowered kLowered", lowered()) + "// NOLINTEND(modernize-use-bool-literals)", "// clang-format on", ""])


if sys.argv[1:] == ["check"]:
    if TARGET.read_text() != text():
        sys.exit(f"{TARGET} is not what Unicode {unicodedata.unidata_version} gives")
elif sys.argv[1:]:
    sys.exit(__doc__)
else:
    TARGET.write_text(text())
