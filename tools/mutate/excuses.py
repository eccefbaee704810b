"""Mutants that no test can tell from the original, and why: a comment beside what they change.

  x = a + b;  // equivalent: REASON        the mutants of this line

  // equivalent: REASON                    alone on its line: those of the statement, the condition or the
  // that may go on                        function that begins below it
"""
import re
from dataclasses import dataclass

MARK = re.compile(r"//\s*equivalent: *(.*)")
COMMENT = re.compile(r"^\s*//(.*)")


@dataclass
class Excuse:
    path: str
    line: int  # of the comment
    first: int  # the lines whose mutants it excuses
    last: int
    why: str
    used: bool = False


def excuses_of(source):
    lines, found = source.text.split("\n"), []
    for number, line in enumerate(lines, 1):
        mark = MARK.search(line)
        if mark is None:
            continue
        if line[:mark.start()].strip():
            found.append(Excuse(source.path, number, number, number, mark[1]))
            continue
        why, below = mark[1], number
        while more := COMMENT.match(lines[below]):
            why, below = f"{why} {more[1].strip()}", below + 1
        found.append(Excuse(source.path, number, *stretch_below(source, below + 1), why))
    return found


def stretch_below(source, line):
    """The lines from `line` to the end of the statement or function that begins on it; of what opens a
    block, `if (…) {`, those before the block."""
    i = source.first_token_of(line)
    opens_block = source.text_of(i) in ("if", "for", "while", "switch", "else", "}")
    while i < len(source.tokens) and source.text_of(i) not in (";", "{"):
        i = source.partner[i] + 1 if source.text_of(i) in ("(", "[") else i + 1
    last = min(i if opens_block else source.partner.get(i, i), len(source.tokens) - 1)
    return line, source.line(last)
