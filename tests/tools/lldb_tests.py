"""Tests of tools/lldb, run inside LLDB:  lldb -b -o 'command script import …/lldb_tests.py'

Set GRADUS_ROOT and GRADUS_FIXTURE. Exit codes: 0, 1, or 77 if LLDB cannot run a program.
"""
import os
import sys
import traceback

import lldb

root, fixture = os.environ["GRADUS_ROOT"], os.environ["GRADUS_FIXTURE"]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(root, "tests/tools"))
import cases  # noqa: E402


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def command(debugger, line):
    result = lldb.SBCommandReturnObject()
    debugger.GetCommandInterpreter().HandleCommand(line, result)
    return result


def launch(target):
    error = lldb.SBError()
    info = lldb.SBLaunchInfo(None)
    info.AddSuppressFileAction(1, False, True)
    process = target.Launch(info, error)
    if error.Fail():
        os.write(1, b"skipped: this machine does not let LLDB run a program\n")
        os._exit(77)
    return process


def function(process, level=0):
    return process.GetSelectedThread().GetFrameAtIndex(level).GetFunctionName() or ""


def compare(frame, stop):
    for name, text in cases.TEXT[stop].items():
        shown = frame.FindVariable(name).GetSummary()
        check(shown == text, "%s is shown as\n%s\nexpected\n%s" % (name, shown, text))
    for name, parts in cases.HOLDS[stop].items():
        if name in ("net", "module", "bad_module"):  # LLDB 14 requires a namespace
            continue
        shown = frame.FindVariable(name).GetSummary()
        for part in parts:
            check(part in shown, "%s is shown as\n%s\nwithout %s" % (name, shown, part))
        check(len(shown) < cases.LONGEST, "the text of %s is too long" % name)
    if "net" in cases.HOLDS[stop]:
        shown = frame.FindVariable("net").GetChildMemberWithName("up").GetSummary()
        check(shown == cases.LAYER, "net.up is shown as\n%s" % shown)


def values(debugger, target):
    target.BreakpointCreateByName("fixture::look")
    process = launch(target)
    for stop in range(len(cases.TEXT)):
        compare(process.GetSelectedThread().GetFrameAtIndex(1), stop)
        process.Continue()


def skips(debugger, target):
    target.BreakpointCreateByName("fixture::standard_library")
    process = launch(target)
    steps = 0
    while function(process).startswith("fixture::standard_library"):
        process.GetSelectedThread().StepInto()
        steps += 1
        name = function(process)
        check(not name.startswith(("std::", "__gnu_cxx::")), "step entered " + name)
    check(steps >= 3, "the function ended after %d steps" % steps)
    process.Kill()


def at(debugger, target):
    refused = command(debugger, "gradus-at sofmax")
    check(not refused.Succeeded() and "Did you mean" in refused.GetError(), refused.GetError())
    everything = debugger.CreateTarget(os.environ["GRADUS_LIBRARY"])
    debugger.SetSelectedTarget(everything)
    check(command(debugger, "gradus-at max").Succeeded(), "gradus-at max, which is a template")
    debugger.SetSelectedTarget(target)
    check(command(debugger, "gradus-at softmax").Succeeded(), "gradus-at softmax")
    process = launch(target)
    check(function(process).startswith("gradus::op::Softmax::forward"), function(process))
    process.Continue()
    check(function(process).startswith("gradus::op::Softmax::backward"), function(process))
    check("y_ri (dy_ri − Σ_j y_rj dy_rj)" in command(debugger, "derive").GetOutput(), "derive")
    refused = command(debugger, "derive sofmax")
    check(not refused.Succeeded() and "Did you mean softmax" in refused.GetError(), refused.GetError())
    process.Kill()

    target.DeleteAllBreakpoints()
    check(command(debugger, "gradus-at 11").Succeeded(), "gradus-at 11")
    process = launch(target)
    check("Walk::visit" in function(process), function(process))
    target.BreakpointCreateByName("fixture::Cube::backward")
    process.Continue()
    check(function(process).startswith("fixture::Cube::backward"), function(process))
    process.Kill()


def __lldb_init_module(debugger, _):
    try:
        debugger.SetAsync(False)
        ours = os.path.join(root, "tools/lldb/gradus_lldb.py")
        debugger.HandleCommand("command script import " + ours)
        target = debugger.CreateTarget(fixture)
        {"values": values, "skips": skips, "at": at}[os.environ["GRADUS_TEST"]](debugger, target)
    except BaseException:
        os.write(2, traceback.format_exc().encode())  # LLDB's own streams are lost at _exit
        os._exit(1)
    os._exit(0)
