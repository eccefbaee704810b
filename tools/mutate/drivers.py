"""Programs that run mutants, several side by side."""
import os
import subprocess
import threading
import time

# So that whoever reads it afterwards is noticed; small blocks are else kept aside as they are.
FREED_IS_OVERWRITTEN = {"MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


class Drivers:
    """Each program has its share of the mutants, and writes a line for each."""

    def __init__(self, mutants, jobs, program, folder, cases=(), excuses=()):
        self.mutants, self.excuses, self.verdicts, self.problems = mutants, excuses, {}, []
        self.program, self.folder, self.cases = program, folder, cases
        ids = sorted(mutants)
        self.shares = [share for share in (ids[k::jobs] for k in range(jobs)) if share]

    def run(self):
        threads = [threading.Thread(target=self.drive, args=(k,)) for k in range(len(self.shares))]
        for thread in threads:
            thread.start()
        told = 0
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.2)
            if len(self.verdicts) >= told + 500:
                told = len(self.verdicts)
                say(f"{told} of {len(self.mutants)} done")
        if self.problems:
            raise SystemExit("mutate.sh: " + "\n".join(sorted(set(self.problems))))
        return self.verdicts

    def excused(self, i):
        """Known to be no fault: a few cases see whether that is still so."""
        return any(excuse.covers(self.mutants[i]) for excuse in self.excuses)

    def drive(self, k):
        tasks = self.folder / f"tasks_{k}.txt"
        tasks.write_text("".join(f"{i} {self.mutants[i].site} {self.excused(i):d}\n" for i in self.shares[k]))
        program = subprocess.Popen([str(self.program), str(tasks), *self.cases],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace",
                                   env=os.environ | FREED_IS_OVERWRITTEN)
        for line in program.stdout:
            if line.count("\t") < 2:  # what a case found has more lines than one
                continue
            number, verdict, by = line.rstrip("\n").split("\t", 2)
            if number == "0":
                self.problems.append(f"{verdict}: {by}")
            else:
                self.verdicts[int(number)] = (verdict, by)
        if program.wait() and not self.problems:
            self.problems.append(f"gradus_mutants ended with {program.returncode}")
