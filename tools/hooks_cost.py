#!/usr/bin/env python3
"""hooks_cost.py PROGRAM ARGUMENT...: the cost of observer hooks in a program without observers.

Runs the program under callgrind, which counts instructions exactly, and counts reads of thread_state.observer. Each
op, layer and step of backward reads this pointer, tests it and jumps. Needs x86-64 Linux, valgrind and objdump.
"""
import re
import shutil
import subprocess
import sys
import tempfile

READ = re.compile(r"\s+([0-9a-f]+):\t\S+\s.*%fs:0x8\(%\w+\)")  # the second member of ThreadState
COST = re.compile(r"(0x[0-9a-f]+|[+-]\d+|\*) \S+ (\d+)$")
AT_MOST = 4  # instructions per hook: address, read, test, jump


def instructions(lines, program):
    """Maps addresses to execution counts of the program's own code; also returns the total."""
    count, objects, total, address, own, called = {}, {}, 0, 0, False, False
    for line in lines:
        if named := re.match(r"c?ob=\((\d+)\)(?: (.*))?", line):
            objects.setdefault(named[1], named[2])
            own = objects[named[1]].endswith(program) if line.startswith("ob") else own
        elif line.startswith("calls="):
            called = True  # the next line is the cost of the callee
        elif cost := COST.match(line):
            where = cost[1]
            address = int(where, 16) if where.startswith("0x") else address + (0 if where == "*" else int(where))
            if not called:
                total += int(cost[2])
                if own:
                    count[address] = count.get(address, 0) + int(cost[2])
            called = False
    return count, total


def main(command):
    if not command:
        sys.exit(__doc__)
    for tool in ("valgrind", "objdump"):
        if not shutil.which(tool):
            sys.exit("hooks_cost.py: %s is not installed. Run apt-get install valgrind binutils" % tool)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["valgrind", "--tool=callgrind", "--dump-instr=yes", "--callgrind-out-file=%s/out" % folder,
                        *command], check=True)
        with open(folder + "/out", encoding="utf-8") as file:
            count, total = instructions(file, command[0].split("/")[-1])
    code = subprocess.check_output(["objdump", "-d", "--no-show-raw-insn", command[0]], text=True)
    reads = sum(count.get(int(found[1], 16), 0) for found in map(READ.match, code.split("\n")) if found)
    if reads == 0:
        sys.exit("hooks_cost.py: no hook was found in %s" % command[0])
    print("instructions %d, hooks %d, of at most %d instructions each: %.4f %%" %
          (total, reads, AT_MOST, 100 * AT_MOST * reads / total))


main(sys.argv[1:])
