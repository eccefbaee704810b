"""What became of the mutants: the file of equivalent ones, the table, the JSON."""
import json
import re
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Excuse:
    """Mutants of lines with this text that no test can tell from the original."""
    place: int  # line of equivalent.txt
    files: str  # a pattern: ops/….cpp
    text: str
    before: str
    after: str
    why: str = ""
    used: bool = False

    def covers(self, mutant):
        return (fits(self.files, mutant.path) and fits(self.text, mutant.text)
                and fits(self.before, mutant.before) and fits(self.after, mutant.after or "nothing"))


def fits(pattern, text):
    """In a pattern … stands for anything."""
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("…")), text) is not None


def read_excuses(path):
    """file: PATTERN, then line: TEXT with `before => after` below it, then why: REASON, which all of
    them since the last reason share."""
    excuses, waiting, files, text = [], [], None, None
    for place, raw in enumerate(path.read_text().splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("file: "):
            files = line[6:]
        elif line.startswith("line: "):
            text = line[6:]
        elif line.startswith("why: ") and waiting:
            for excuse in waiting:
                excuse.why = line[5:]
            excuses, waiting = excuses + waiting, []
        elif " => " in line and files and text:
            before, after = line.split(" => ", 1)
            waiting.append(Excuse(place, files, text, before, after))
        else:
            raise SystemExit(f"{path}:{place}: neither file:, line:, why: nor `before => after`: {line}")
    if waiting:
        raise SystemExit(f"{path}:{waiting[0].place}: no why: follows")
    return excuses


@dataclass
class Results:
    mutants: dict  # by id: those that were run
    verdicts: dict = field(default_factory=dict)  # id → (verdict, by what)

    def judge(self, excuses):
        """Survivors that equivalent.txt has become equivalent; so do those that are only slower, and took
        too long."""
        for i, (verdict, by) in self.verdicts.items():
            if verdict == "killed" and by != "hung":
                continue
            for excuse in excuses:
                if excuse.covers(self.mutants[i]):
                    excuse.used = True
                    self.verdicts[i] = ("equivalent", excuse.why)
                    break

    def survivors(self):
        return [i for i, (verdict, _) in self.verdicts.items() if verdict in ("survived", "unreached")]

    def table(self, title="file", kind=lambda mutant: mutant.path):
        """Counts for each kind of mutant, and what share was noticed of those that have no excuse."""
        counts = {}
        for i, (verdict, _) in self.verdicts.items():
            counts.setdefault(kind(self.mutants[i]), Counter())[verdict] += 1
        total = sum(counts.values(), Counter())
        columns = ("killed", "equivalent", "survived", "unreached")
        lines = [f"{title:28}{'mutants':>9}" + "".join(f"{c:>12}" for c in columns) + f"{'noticed':>10}"]
        for name, count in sorted(counts.items()) + [("all", total)]:
            faults = sum(count.values()) - count["equivalent"]
            lines.append(f"{name:28}{sum(count.values()):>9}"
                         + "".join(f"{count[c] or '':>12}" for c in columns)
                         + (f"{count['killed'] / faults:>10.1%}" if faults else ""))
        return "\n".join(lines)

    def write(self, path, about):
        rows = [{"id": i, "file": m.path, "line": m.line, "text": m.text, "fault": m.fault,
                 "before": m.before, "after": m.after, "verdict": self.verdicts[i][0],
                 "by": self.verdicts[i][1]} for i, m in sorted(self.mutants.items()) if i in self.verdicts]
        path.write_text(json.dumps(about | {"mutants": rows}, indent=1, ensure_ascii=False) + "\n")

    def as_excuses(self, ids):
        """The survivors as equivalent.txt would have them, for whoever finds the reasons."""
        lines, at = [], None
        for i in sorted(ids):
            mutant = self.mutants[i]
            if at is None or at[0] != mutant.path:
                lines.append(f"\nfile: {mutant.path}")
            if at != (mutant.path, mutant.text):
                lines.append(f"line: {mutant.text}")
            lines.append(f"  {mutant.before} => {mutant.after or 'nothing'}")
            at = (mutant.path, mutant.text)
        return "\n".join(lines)
