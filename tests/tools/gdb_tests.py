"""Tests of tools/gdb, run inside gdb:  gdb -batch -nx -ex 'py test="frames"' … -x gdb_tests.py

The caller sets `test` (one of the functions below), `root`, `fixture`, `library` (a program with
the entire library) and `work` (a folder). Exit codes: 0, 1, or 77 if a test cannot run here.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import traceback

import gdb

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(root, "tests/tools"))
import cases  # noqa: E402


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def run(command):
    return gdb.execute(command, to_string=True)


def begin(program=None):
    for setting in ("confirm off", "pagination off", "width 0", "debuginfod enabled off"):
        run("set " + setting)
    run("source " + os.path.join(root, "tools/gdb/gradus.py"))
    run("file " + (program or fixture))


def start(arguments=""):
    """Runs the program to its next stop. Skips the test in containers that forbid debugging."""
    try:
        return run("run %s >/dev/null" % arguments)
    except gdb.error as error:
        if "not permitted" in str(error) or "During startup" in str(error):
            print("skipped: this machine does not let gdb run a program (%s)" % error)
            run("quit 77")
        raise


def to_look(stop):
    run("break fixture::look")
    start()
    for _ in range(stop):
        run("continue")
    run("up")


def shown(name):
    return gdb.parse_and_eval(name).format_string()


def compare(stop):
    for name, text in cases.TEXT[stop].items():
        if name not in ("node", "bad_node", "leaf"):  # gdb's output for a node also contains the op
            check(shown(name) == text, "%s is shown as\n%s\nexpected\n%s" % (name, shown(name), text))
        check(shown(name).startswith(text), "%s is shown as\n%s" % (name, shown(name)))
    for name, parts in cases.HOLDS[stop].items():
        text = shown(name)
        for part in parts:
            check(part in text, "%s is shown as\n%s\nwithout %s" % (name, text, part))
    for line in run("info locals").split("\n"):
        for noise in ("Python Exception", "error reading", "warning:"):
            check(noise not in line, line)
    for name in cases.HOLDS[stop]:
        check(len(shown(name)) < cases.LONGEST, "the text of %s is too long" % name)


def values():
    begin()
    run("break fixture::look")
    start()
    for stop in range(len(cases.TEXT)):
        run("up")
        compare(stop)
        if stop == 2:
            for node, saved in (("node", "y = f32 [2, 2] [[0.2689"), ("cube", "x = f32 [2, 2] from softmax #8")):
                check(saved in shown(node), shown(node))
        run("continue")


def core():
    begin()
    to_look(2)
    file = os.path.join(work, "core")
    run("gcore " + file)
    try:
        run("kill")
        run("core-file " + file)
        run("up")
        compare(2)
    finally:
        os.remove(file)


def names(backtrace):
    """The functions of a backtrace, newest first, without the test program's."""
    backtrace = backtrace.replace("(anonymous namespace)::", "")
    frames = re.findall(r"^#\d+ +(?:0x\w+ in )?(.*?) \(", backtrace, re.M)
    return frames[:next(i for i, name in enumerate(frames) if name.startswith("fixture::"))]


def frames():
    """From loss.backward() to a row of softmax: six frames, none of the standard library."""
    begin()
    run("break softmax_rows_backward")
    start()
    expected = ["gradus::softmax_rows_backward<float>", "gradus::op::Softmax::backward",
                "gradus::Walk::visit", "gradus::Walk::run", "gradus::backward",
                "gradus::Tensor::backward"]
    check(names(run("bt")) == expected, "bt shows\n" + run("bt"))
    every = names(run("bt -no-filters"))
    check(len(every) > len(expected), "no frame is hidden in\n" + run("bt"))
    check(not [name for name in every if name.startswith("std::")], "\n".join(every))

    run("delete")
    run("set environment FIXTURE_FORMULA 1")  # softmax's derivative as its formula: more operations
    run("break gradus::op::Softmax::backward")
    start()
    check(names(run("bt")) == expected[1:], "bt shows\n" + run("bt"))


FORWARDS = re.compile(r"(^|::)operator$|simd::|std::|^gradus::(FunctionRef|apply|run|record|dispatch\w*|parallel_for)\b"
                      r"|^gradus::examples::program$")


def walk_in_document(title):
    """(file, function) of each step in a table of docs/architecture.md."""
    with open(os.path.join(root, "docs/architecture.md"), encoding="utf-8") as file:
        section = file.read().split("\n## How a training step runs\n")[1].split("\n## ")[0]
    rows = section.split("\n%s:\n" % title)[1].strip().split("\n\n")[0].split("\n")[2:]
    steps = []
    for row in rows:
        _, _, file, functions, _, _ = row.split("|")
        steps += [(file.strip(" `"), each) for each in re.findall(r"`(.*?)`", functions)]
    return len(rows), steps


def in_tree(file):
    """A source's path in the tree, or "". A compiler cache may report another root."""
    parts = file.split("/")
    for first in range(1, len(parts)):
        path = os.path.join(root, *parts[first:])
        if os.path.isfile(path):
            return os.path.relpath(os.path.realpath(path), os.path.realpath(root))
    return ""


def walk_of_program():
    """(file, function) of each frame from main on, without forwarding functions."""
    steps, frame = [], gdb.newest_frame()
    while frame:
        file, name = frame.find_sal().symtab, (frame.name() or "").replace("(anonymous namespace)::", "")
        name = re.sub(r"<.*?>", "", name.split("(")[0])
        path = in_tree(file.fullname()) if file else ""
        inside = steps and steps[-1] == (path, name)  # a lambda of the function
        if path and not inside and not FORWARDS.search(name):
            steps.append((path, name))
        frame = frame.older()
    return [(path, re.sub(r"^(?:[a-z]\w*::)+", "", name)) for path, name in steps[::-1]]  # without namespaces


def walk():
    """The program calls the functions that docs/architecture.md lists, from `gpt train` to the softmax row and back."""
    text, out = os.path.join(root, "docs/architecture.md"), os.path.join(work, "walk")
    shutil.rmtree(out, ignore_errors=True)
    begin(walker)
    arguments = ("train %s --out %s --tokenizer byte --layers 1 --heads 2 --width 8 --context 8 --batch 1 --steps 1 "
                 "--no-trial --threads 1" % (text, out))
    for title, stop, most in (("Forward", "online_softmax_rows", 14), ("Backward", "online_softmax_rows_backward", 8)):
        run("delete")
        run("break gradus::kernel::" + stop)
        start(arguments) if title == "Forward" else run("continue")
        rows, expected = walk_in_document(title)
        found = walk_of_program()
        if title == "Backward":
            found = found[found.index(expected[0]):]
        check(rows <= most, "%s has %d steps" % (title, rows))
        check(found == expected, "%s in docs/architecture.md is\n%s\nbut the program's is\n%s" % (
            title, "\n".join("%s %s" % each for each in expected), "\n".join("%s %s" % each for each in found)))
    run("kill")
    shutil.rmtree(out, ignore_errors=True)


def skips():
    """`step` does not enter the standard library."""
    begin()
    run("break fixture::standard_library")
    start()
    steps = 0
    while gdb.selected_frame().name() == "fixture::standard_library":
        run("step")
        steps += 1
        name = gdb.selected_frame().name()
        check(not name.startswith(("std::", "__gnu_cxx::")), "step entered " + name)
    check(steps >= 3, "the function ended after %d steps" % steps)


def refused(command, *parts):
    try:
        run(command)
    except gdb.error as error:
        check(all(part in str(error) for part in parts) and "\n" not in str(error), str(error))
        return
    check(False, command + " was not rejected")


def at():
    begin()
    refused("gradus-at sofmax", "sofmax", "Did you mean", "softmax", "log_softmax")
    refused("gradus-at unfold", "unfold is not used in this program")
    refused("gradus-at 3x", "3x")
    run("gradus-at cube")  # a custom op
    start()
    check(gdb.selected_frame().name() == "fixture::Cube::forward", run("bt"))
    run("continue")
    check(gdb.selected_frame().name() == "fixture::Cube::backward", run("bt"))

    run("delete")
    run("gradus-at softmax")
    start()
    check(gdb.selected_frame().name() == "gradus::op::Softmax::forward", run("bt"))
    run("continue")
    check(gdb.selected_frame().name() == "gradus::op::Softmax::backward", run("bt"))
    check("y_ri (dy_ri − Σ_j y_rj dy_rj)" in run("derive"), run("derive"))
    check(run("derive matmul").startswith("# matmul"), run("derive matmul"))
    refused("derive sofmax", "no derivation of 'sofmax'. Did you mean softmax")

    run("delete")
    run("gradus-at 11")
    start()
    check("gradus::Node::Node" in run("bt 1") and "fixture::graph" in run("bt"), run("bt"))
    made = gdb.parse_and_eval("this")
    run("finish")
    check(int(made.dereference()["id"]) == 11, "stopped where another node was created")
    run("continue")
    check("Walk::visit" in gdb.selected_frame().name(), run("bt"))
    run("break fixture::Cube::backward")
    run("continue")
    check(gdb.selected_frame().name() == "fixture::Cube::backward", "node 11 is not cube")


def editor():
    """VS Code's gdb session from launch.json: commands run before a program is loaded, and its call
stack omits the same frames as `bt`."""
    path = os.path.join(root, ".vscode/launch.json")
    setup = json.load(open(path, encoding="utf-8"))["configurations"][0]["setupCommands"]
    lines = [each["text"].replace("${workspaceFolder}", root).replace("${input:at}", "cube")
             for each in setup]
    lines += ["-break-insert -f softmax_rows_backward", "-file-exec-and-symbols " + fixture,
              "-exec-run", ""]
    gdb_ = subprocess.Popen(["gdb", "-q", "-nx", "-i=mi"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    gdb_.stdin.write("\n".join(lines))
    gdb_.stdin.flush()
    said = ""
    for line in gdb_.stdout:
        said += line
        if line.startswith("*stopped") and "fixture::Cube::forward" in said:
            if "softmax_rows_backward" in line:
                gdb_.stdin.write("-stack-list-frames\n")
            else:
                gdb_.stdin.write("-exec-continue\n")
            gdb_.stdin.flush()
        elif line.startswith(("*stopped", "^error", "^done,stack")):
            break
    gdb_.kill()
    check("fixture::Cube::forward" in said, said)
    stack = re.findall(r'func="([^"(]+)', said.splitlines()[-1].replace("(anonymous namespace)::", ""))
    shown_ = [name for name in stack if name.startswith("gradus::")]
    check(len(shown_) == 6, "\n".join(stack) or said)

    for name in ("launch.json", "tasks.json"):
        text = open(os.path.join(root, ".vscode", name), encoding="utf-8").read()
        json.loads(text)
        for path in re.findall(r"\$\{workspaceFolder\}/(tools/[\w./]+)", text):
            check(os.path.exists(os.path.join(root, path)), path + " does not exist")


def places():
    """Breakpoints in README, docs and lessons: `break X`, `--at X` or `step.sh 01`."""
    files = [os.path.join(root, "README.md")]
    for folder in ("docs", "examples"):
        for directory, _, inside in os.walk(os.path.join(root, folder)):
            files += [os.path.join(directory, each) for each in inside
                      if each.endswith((".md", ".cpp"))]
    for file in sorted(files):
        for number, line in enumerate(open(file, encoding="utf-8"), 1):
            found = re.findall(r"\(gdb\) t?break (\S+)", line)
            found += re.findall(r"(?<!\(gdb\) )\bt?break (gradus::[\w:]+)", line)
            yield from ((file, number, "break", name.rstrip(".,:;)`'")) for name in found)
            for name in re.findall(r"step\.sh[^`|]*? --at[ =](\w+)", line):
                yield file, number, "--at", name
            for name in re.findall(r"step\.sh (\d+)", line):
                yield file, number, "lesson", name


def resolves(file, name):
    """True if gdb finds the breakpoint in the library or in the lesson that names it."""
    source, _, line = name.rpartition(":")
    if line.isdigit():
        lines = open(os.path.join(os.path.dirname(file), os.path.basename(source))).readlines()
        return int(line) <= len(lines) and re.match(r"\s*[^\s/}]", lines[int(line) - 1]) is not None
    try:
        if gdb.decode_line(name)[1]:
            return True
    except gdb.error:
        pass
    forward = re.fullmatch(r"gradus::op::(\w+)::forward", name)
    if forward:  # may be inlined by the optimizer
        return forward.group(1) in show.operations().values()
    defined = re.search(r"\b%s\(" % re.escape(name), open(file, encoding="utf-8").read())
    return "::" not in name and defined is not None


def breakpoints():
    begin(library)
    found, lessons = list(places()), os.listdir(os.path.join(root, "examples"))
    inlined = []
    check(len(found) >= 2, "README, docs and lessons have only %d breakpoints" % len(found))
    for file, line, kind, name in found:
        where = "%s:%d: %s %s" % (os.path.relpath(file, root), line, kind, name)
        if kind == "--at" and not name.isdigit():
            run("gradus-at " + name)
        elif kind == "lesson":
            check(any(each.startswith(name + "_") for each in lessons), where + " does not exist")
        elif kind == "break" and not resolves(file, name):
            inlined.append((file, where, name))
        print(where)
    begin()  # inlined functions exist in the unoptimized fixture
    inlined = [each for each in inlined if not resolves(each[0], each[2])]
    if walker and inlined:
        begin(walker)
    for file, where, name in inlined:
        check(resolves(file, name), where + " was not found")


try:
    globals()[test]()
except gdb.error as error:
    traceback.print_exc()
    gdb.execute("quit 1")
except BaseException:
    traceback.print_exc()
    gdb.execute("quit 1")
gdb.execute("quit 0")
