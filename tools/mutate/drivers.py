"""The program that runs mutants."""
import os
import shutil
import subprocess
import time

# So that whoever reads it afterwards is noticed; small blocks are else kept aside as they are.
FREED_IS_OVERWRITTEN = {"MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
WORTH = 1  # seconds of cases for a mutant
WORTH_EXCUSED = 0.3  # for one that is known to be no fault: is that still so?


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def run(mutants, jobs, program, folder, cases=()):
    """id → (verdict, by what), and id → seconds."""
    tasks, scratch = folder / "tasks.txt", folder / "scratch"
    tasks.write_text("".join(f"{i} {m.site} {WORTH_EXCUSED if m.excuse else WORTH} {m.path}\n"
                             for i, m in sorted(mutants.items())))
    done = subprocess.Popen([str(program), str(tasks), str(jobs), str(scratch), *cases],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace",
                            env=os.environ | FREED_IS_OVERWRITTEN)
    verdicts, seconds, problems = {}, {}, set()
    for line in done.stdout:
        if line.count("\t") < 3:  # what a case found has more lines than one
            continue
        number, verdict, taken, by = line.rstrip("\n").split("\t", 3)
        if number == "0":
            problems.add(f"{verdict}: {by}")
            continue
        verdicts[int(number)], seconds[int(number)] = (verdict, by), float(taken)
        if len(verdicts) % 1000 == 0:
            say(f"{len(verdicts)} of {len(mutants)} done")
    if done.wait() or problems:
        raise SystemExit("mutate.sh: " + ("\n".join(sorted(problems)) or f"{program} ended with {done.returncode}"))
    shutil.rmtree(scratch, ignore_errors=True)
    return verdicts, seconds
