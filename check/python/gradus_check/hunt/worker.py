"""The process that runs a package's code: imports it, runs its tests, checks what they called. Reads its
orders as JSON from the first argument, and writes one JSON object per line to the file they name."""
import contextlib
import importlib
import inspect
import io
import itertools
import json
import os
import pkgutil
import random
import runpy
import shutil
import signal
import socket
import sys
import time
import traceback
import warnings

import numpy

from . import classify, guess, hints, reproduce, vary
from .record import Recorder, path_of, recording, subclasses_of_function

CHECK_SECONDS = 10
MARKS = (".git", "pyproject.toml", "setup.py")  # of a project's top folder
MOST_PROGRAMS = 4  # tried for a finding


class TooLong(KeyboardInterrupt):
    """Raised in the package's code after a time limit. pytest stops at a KeyboardInterrupt only."""


@contextlib.contextmanager
def at_most(seconds):
    def stop(*_):
        raise TooLong(f"no result after {seconds:.0f} s")
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(0.1, seconds))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def forbid_network():
    def refuse(*_, **__):
        raise OSError("gradus-check hunt allows no network")
    socket.socket.connect = socket.socket.connect_ex = socket.create_connection = refuse


class Hunt:
    """Records the calls of a package's derivatives, and checks them. `out` is a file for the entries."""

    def __init__(self, package, budget, out=None, skip=()):
        self.package, self.budget, self.out, self.skip, self.entries = package, budget, out, skip, []
        self.deadline = time.monotonic() + budget
        self.recorder = Recorder(self._owns)

    def _owns(self, module):
        return module.split(".")[0] == self.package

    def say(self, **entry):
        self.entries.append(entry)
        if self.out:
            self.out.write(json.dumps(entry, default=str) + "\n")
            self.out.flush()

    def record(self, tests, seconds):
        """Imports the package, runs tests for at most `seconds` each, and calls what they did not call."""
        with recording(self.recorder):
            modules = self._import()
            for path in tests:
                self._run_tests(path, seconds)
            if "torch" in sys.modules:
                self._guess(modules)
        if "autograd" in sys.modules:
            self._call_primitives()

    def check(self):
        self.recorder.off = True
        groups = {}
        for call in self.recorder.calls.values():
            groups.setdefault(call.name, []).append(call)
        defined = self._defined()
        self.say(event="found", functions=sorted(set(groups) | set(defined)),
                 uncalled=sorted(set(defined) - set(groups)), large=sorted(self.recorder.large - set(groups)))
        for name, cls in defined.items():
            for hint in hints.hints(cls):
                self.say(event="hint", function=name, hint=hint)
        for place, (name, calls) in enumerate(sorted(groups.items())):
            if name not in self.skip:
                share = (self.deadline - time.monotonic()) / (len(groups) - place)
                self._check_function(name, calls, max(2.0, 2 * share if place + 1 < len(groups) else share))
        self.say(event="done")

    def _guess(self, modules):
        called = {name for name, *_ in self.recorder.calls}
        until = time.monotonic() + min(60.0, 0.2 * (self.deadline - time.monotonic()))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            guess.call_everything([sys.modules[m] for m in modules if m in sys.modules],
                                  [cls for name, cls in self._defined().items() if name not in called],
                                  lambda: time.monotonic() < until, lambda: at_most(1))

    def _defined(self):
        if "torch" not in sys.modules:
            return {}
        return {name: cls for name, cls in subclasses_of_function().items() if self._owns(cls.__module__)}

    def _import(self):
        package = importlib.import_module(self.package)
        names = [self.package]
        for module in pkgutil.walk_packages(getattr(package, "__path__", []), self.package + ".", lambda _: None):
            if module.name.rsplit(".", 1)[-1] in ("__main__", "setup", "conftest"):
                continue
            try:
                with at_most(60), contextlib.redirect_stdout(io.StringIO()):
                    importlib.import_module(module.name)
                names.append(module.name)
            except BaseException as error:  # pylint: disable=broad-except
                if isinstance(error, KeyboardInterrupt) and not isinstance(error, TooLong):
                    raise
                self.say(event="not imported", module=module.name, error=f"{type(error).__name__}: {error}")
        return names

    def _run_tests(self, path, seconds):
        """Runs tests, or scripts if no file is a test, in a copy of their folder, so that the installed package is
        imported, not the one next to them. Their results do not matter."""
        import pytest
        root, copy = self._copied(path)
        with open(os.path.join(root, "pytest.ini"), "w", encoding="utf-8") as file:
            file.write("[pytest]\npython_files = test_*.py *_test.py *_tests.py test*.py\n")
        files = [copy] if os.path.isfile(copy) else [
            os.path.join(folder, name) for folder, _, names in os.walk(copy) for name in names if name.endswith(".py")]
        scripts = [] if any("test" in os.path.basename(name) for name in files) else sorted(files)
        until = time.monotonic() + min(seconds, self.deadline - time.monotonic())
        here, log = os.getcwd(), os.path.join(os.environ["HOME"], "tests.log")
        os.chdir(copy if os.path.isdir(copy) else os.path.dirname(copy))
        with open(log, "w", encoding="utf-8") as file, contextlib.redirect_stdout(file), \
                contextlib.redirect_stderr(file):
            for name in scripts:
                share = (until - time.monotonic()) / (len(scripts) - scripts.index(name))
                self._run_limited(path, share, lambda: runpy.run_path(name, run_name="__main__"))
            if not scripts:
                self._run_limited(path, until - time.monotonic(), lambda: pytest.main([
                    "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", "-c",
                    os.path.join(root, "pytest.ini"), "--rootdir", root, copy]))
        os.chdir(here)
        with open(log, encoding="utf-8", errors="replace") as file:
            self.say(event="tests", path=path, end=file.read()[-300:].strip().splitlines()[-1:])

    def _copied(self, path):
        """Copies a file or folder, with the rest of its project but the package itself: tests need its conftest.py and
        helpers. Returns the copies of the project and of the path."""
        target = os.path.join(os.environ["HOME"], "tests")
        shutil.rmtree(target, ignore_errors=True)
        project = path
        while project != "/" and not any(os.path.exists(os.path.join(project, m)) for m in MARKS):
            project = os.path.dirname(project)
        parts = os.path.relpath(path, project).split(os.sep)
        if project == "/" or self.package in parts:
            project = os.path.dirname(path)
            if os.path.isdir(path):
                shutil.copytree(path, os.path.join(target, os.path.basename(path)))
            else:
                os.makedirs(target)
                shutil.copy(path, target)
        else:
            tops = (project, os.path.join(project, "src"))
            shutil.copytree(project, target, symlinks=True, ignore=lambda folder, names: [
                n for n in names if n[0] == "." or folder in tops and n in ("build", self.package)])
        return target, os.path.join(target, os.path.relpath(path, project))

    def _run_limited(self, path, seconds, run):
        try:
            with at_most(seconds):
                run()
        except TooLong:
            self.say(event="tests stopped", path=path, seconds=seconds)
        except (Exception, SystemExit) as error:  # pylint: disable=broad-except
            self.say(event="tests stopped", path=path, error=f"{type(error).__name__}: {error}")

    def _call_primitives(self):
        """Calls each primitive of autograd that the package defines with arrays of several shapes."""
        from autograd import make_vjp
        from autograd.core import primitive_vjps
        rng = numpy.random.default_rng(1)
        shapes = ((), (3,), (3, 2), (2, 3, 3))
        with recording(self.recorder):
            for f in filter(lambda f: path_of(f, self._owns), primitive_vjps):
                counts, known = self._signature(f)
                for options in ({}, {"axis": 1}, {"axis": 1, "keepdims": True}, {"axis": None}, {"order": "A"},
                                {"order": "F"}, {"ord": numpy.inf}, {"ord": "nuc"}, {"ord": 1}):
                    for shape in shapes if known >= set(options) else ():
                        for count in counts:
                            x = [rng.standard_normal(shape) + 1.5 for _ in range(count)]
                            with contextlib.suppress(Exception), warnings.catch_warnings():
                                warnings.simplefilter("ignore")
                                make_vjp(lambda v: f(v, *x[1:], **options))(x[0])  # pylint: disable=cell-var-from-loop

    @staticmethod
    def _signature(primitive):
        """The possible numbers of array arguments, and the names of all parameters."""
        f = getattr(primitive, "fun", primitive)
        if isinstance(f, numpy.ufunc):
            return (f.nin,), set()
        try:
            return (1, 2), set(inspect.signature(f).parameters)
        except (TypeError, ValueError):
            return (1, 2), set()

    def _check_function(self, name, calls, seconds):
        self.say(event="start", function=name)
        until = time.monotonic() + seconds
        rough = False
        counts = {"calls": self.recorder.seen.get(name, 0), "samples": 0, "PASS": 0, "FAIL": 0, "INCONCLUSIVE": 0,
                  "UNIMPLEMENTED": 0, "rejected": 0}
        problems = {}
        rng = numpy.random.default_rng(5)
        queues = [((call, *varied) for varied in vary.variations(call, [c for c in calls if c is not call], rng))
                  for call in calls]
        for turn in itertools.zip_longest(*queues):
            for call, label, args, kwargs in filter(None, turn):
                if time.monotonic() < until:
                    report = self._check_sample(call, label, args, kwargs, until, counts, problems)
                    rough = rough or report is not None and "float32" in report
        constants = sorted({call.argument_names()[k] for call in calls for k in call.constants})
        if constants:
            self.say(event="constants", function=name, inputs=constants)
        loud = {(order, kind) for order, kind, _ in problems if kind in ("wrong", "throws")}
        for (order, kind, _), found in sorted(problems.items()):
            found.sort(key=lambda p: (p["label"] != "as recorded", p["elements"]))
            if kind == "edge" and (rough or {(order, "wrong"), (order, "throws")} & loud):
                continue
            first = found[0]
            shown = self._reproduction(first, order)
            # Without a pattern, a difference may have crossed a switch: the program decides.
            refuted = kind == "wrong" and not first["causes"] and shown["program"] and not shown["reproduced"]
            self.say(event="unconfirmed" if refuted else "finding", function=name, order=order, kind=kind,
                     error=first["error"], causes=first["causes"], inputs=first["wrong"], sample=first["label"],
                     samples=len(found), labels=sorted({p["label"] for p in found}), report=first["report"], **shown)
        self.say(event="function", function=name, seconds=round(time.monotonic() - until + seconds, 1), **counts)

    def _check_sample(self, call, label, args, kwargs, until, counts, problems):
        """Checks one variation. Returns the text of an inconclusive report."""
        left = until - time.monotonic()
        try:
            with at_most(min(CHECK_SECONDS, left) + 5), warnings.catch_warnings(), \
                    contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                warnings.simplefilter("ignore")
                if not classify.takes(call, args, kwargs):
                    counts["rejected"] += 1
                    return None
                budget = max(0.5, min(CHECK_SECONDS, left))
                report = classify.check(call, args, kwargs, budget, label == "as recorded")
                counts["samples"] += 1
                if classify.holds_tensors(report):
                    counts["INCONCLUSIVE"] += 1
                    return None
                counts[report.verdict] += 1
                if report or report.verdict == "INCONCLUSIVE":
                    return str(report)
                found = [classify.classified(report, label)]
                if found[0][1] in ("wrong", "accuracy", "edge"):
                    found = self._without_conventions(call, label, args, kwargs, report, found[0])
        except (Exception, TooLong) as problem:  # pylint: disable=broad-except
            counts["INCONCLUSIVE"] += 1
            self.say(event="stopped", function=call.name, sample=label, error=f"{type(problem).__name__}: {problem}")
            return None
        elements = sum(a.size for a in args if isinstance(a, numpy.ndarray))
        for order, kind, error, causes, wrong, text in found:
            why = ", ".join(sorted(set(causes.values()))) if kind == "wrong" else ""
            problems.setdefault((order, kind, why), []).append(
                {"label": label, "error": error, "causes": causes, "wrong": wrong, "elements": elements, "call": call,
                 "args": args, "kwargs": kwargs, "report": text, "kind": kind})
        return None

    @staticmethod
    def _without_conventions(call, label, args, kwargs, report, found):
        """The finding, as a convention if the derivative is right for changes along a manifold; then also what is wrong
        with the second derivative along it."""
        order, _, *rest = found
        if order == 1 and classify.is_tangent(call, report, args, kwargs):
            return [(order, "convention", *rest)]
        torch = call.kind.startswith("torch")
        for mapped in (classify.on_the_manifold(call, args, torch), torch and classify.without_gauge):
            if not mapped:
                continue
            try:
                other = classify.check(call, args, kwargs, CHECK_SECONDS, label == "as recorded", mapped=mapped)
            except (Exception, TooLong):  # pylint: disable=broad-except
                break
            if other:
                return [(order, "convention", *rest)]
            if order == 1 and other.json()["verdict"] == "PASS":
                return [(order, "convention", *rest), classify.classified(other, label)]
        return [found]

    def _reproduction(self, problem, order):
        """The program for the first argument that shows the finding alone: one that the report names, or, if its cause
        is WANTS, another one."""
        call, names = problem["call"], problem["call"].argument_names()
        at = [names.index(n) for n in problem["wrong"] if n in names]
        if "WANTS" in problem["causes"].values():
            at += [k for k in classify.differentiated(call, problem["args"]) if k not in at]
        result = {"program": "", "reproduced": False, "why_not": "the finding belongs to no argument"}
        for k in at[:MOST_PROGRAMS]:
            try:
                text = reproduce.program(call, problem["args"], problem["kwargs"], k, order)
                with at_most(20), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    shown, printed = reproduce.shows(text, problem["kind"] == "throws")
                result = {"program": text, "reproduced": shown, "printed": printed}
                if shown:
                    break
            except (reproduce.NoProgram, TooLong) as reason:
                result["why_not"] = str(reason)
            except Exception:  # pylint: disable=broad-except
                result["why_not"] = traceback.format_exc(limit=2)
        return result


def main():
    orders = json.loads(sys.argv[1])
    forbid_network()
    warnings.simplefilter("ignore")
    random.seed(1)
    numpy.random.seed(1)
    with contextlib.suppress(ImportError):
        import torch
        torch.set_num_threads(1)
        torch.manual_seed(1)
    with open(orders["out"], "a", encoding="utf-8") as out:
        hunt = Hunt(orders["package"], orders["budget"], out, orders["skip"])
        hunt.record(orders["tests"], orders["test_seconds"])
        hunt.check()


if __name__ == "__main__":
    main()
