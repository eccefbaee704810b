"""What became of the mutants: tables and the JSON."""
import json
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Results:
    mutants: dict  # by id: those that were run
    verdicts: dict = field(default_factory=dict)  # id → (verdict, by what)
    seconds: dict = field(default_factory=dict)

    def judge(self):
        """Survivors that have an excuse become equivalent; so do those that are only slower, and took
        too long."""
        for i, (verdict, by) in self.verdicts.items():
            excuse = self.mutants[i].excuse
            if excuse and (verdict != "killed" or by == "hung"):
                excuse.used = True
                self.verdicts[i] = ("equivalent", excuse.why)

    def survivors(self):
        return [i for i, (verdict, _) in self.verdicts.items() if verdict in ("survived", "unreached")]

    def too_many(self):
        """Does any survive that bears derivatives, or more than 3 of 100 elsewhere?"""
        alive = [self.mutants[i].strict for i in self.survivors()]
        rest = [v for i, (v, _) in self.verdicts.items() if not self.mutants[i].strict and v != "equivalent"]
        return any(alive) or len(alive) > 0.03 * len(rest)

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
                 "before": m.before, "after": m.after, "strict": m.strict, "verdict": self.verdicts[i][0],
                 "by": self.verdicts[i][1], "seconds": self.seconds.get(i)}
                for i, m in sorted(self.mutants.items()) if i in self.verdicts]
        path.write_text(json.dumps(about | {"mutants": rows}, indent=1, ensure_ascii=False) + "\n")
