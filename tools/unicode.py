#!/usr/bin/env python3
"""Writes io/pretrained/unicode_tables.inc, the character data of io/pretrained/unicode.cpp, from Python's tables.

    tools/unicode.py         writes the file
    tools/unicode.py check   compares the file with the output of this Python (depends on its Unicode version)"""
import sys
import unicodedata
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "io" / "pretrained" / "unicode_tables.inc"
CHARACTERS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
SPACES = {*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
HANGUL = range(0xAC00, 0xD7A4)  # composed by a formula
IDEOGRAPHS = {"kIdeographs": range(0xF900, 0xFADA), "kMoreIdeographs": range(0x2F800, 0x2FA1E)}  # single-part decompositions
KINDS = {"L": "letter", "N": "number", "P": "punctuation", "Mn": "mark", "Cc": "control", "Cf": "control",
         "Co": "control"}


def kind(c):
    if ord(c) in SPACES:
        return "space"
    category = unicodedata.category(c)
    return KINDS.get(category) or KINDS.get(category[0])


def run(first, value, last, step=1):
    """A table row. Omits `last` if it equals `first`, and a step of 1."""
    return [first, value] + [last] * (last > first) + [step] * (step > 1)


def ranges(of):
    """Ranges of consecutive characters with an equal value."""
    found = []
    for c in CHARACTERS:
        value = of(c)
        if found and found[-1][2] == ord(c) - 1 and found[-1][1] == value:
            found[-1][2] = ord(c)
        elif value:
            found.append([ord(c), value, ord(c)])
    return [run(*row) for row in found]


def parts_of(code):
    """The canonical decomposition."""
    parts = unicodedata.decomposition(chr(code))
    return [] if parts.startswith("<") else [int(part, 16) for part in parts.split()]


def decompositions():
    """[character, part] or [character, first part, second], with a 0 appended if the two do not compose again."""
    found = []
    for c in CHARACTERS:
        parts = parts_of(ord(c))
        if parts and not any(ord(c) in block for block in [HANGUL, *IDEOGRAPHS.values()]):
            lost = len(parts) == 2 and unicodedata.normalize("NFC", "".join(map(chr, parts))) != c
            found.append([ord(c), *parts] + [0] * lost)
    return found


def lowered():
    """Ranges with the lower case of their first character; the others have the same offset. İ becomes two
    characters, of which this is the first."""
    found = []
    for c in CHARACTERS:
        code, lower = ord(c), ord(c.lower()[0])
        if lower == code:
            continue
        if found:
            first, to, last, step = found[-1]
            if lower - code == to - first and code - last in ([1, 2] if first == last else [step]):
                found[-1][2:] = code, code - last
                continue
        found.append([code, lower, code, 1])
    return [run(*row) for row in found]


def table(declaration, rows):
    lines, line = [], " "
    for row in rows:
        each = ", ".join(f"{x:#x}" if isinstance(x, int) and x > 255 else str(x) for x in row)
        each = f" {{{each}}}," if len(row) > 1 else f" {each},"
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
        table("Range<CharKind> kKinds", ranges(kind)),
        table("Range<int> kCombining", ranges(unicodedata.combining)),
        table("Decomposition kDecompositions", decompositions()),
        *(table(f"char32_t {name}", [parts_of(code) or [0] for code in block]) for name, block in IDEOGRAPHS.items()),
        table("Lowered kLowered", lowered()) + "// NOLINTEND(modernize-use-bool-literals)", "// clang-format on", ""])


if sys.argv[1:] == ["check"]:
    if TARGET.read_text() != text():
        sys.exit(f"{TARGET} differs from the tables of Unicode {unicodedata.unidata_version}")
elif sys.argv[1:]:
    sys.exit(__doc__)
else:
    TARGET.write_text(text())
