"""The process that runs a package's code: imports it, runs its tests, checks what they called. Reads its
orders as JSON from the first argument, and writes one JSON object per line to the file they name."""
import contextlib
import importlib
import inspect
import io
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
from .record import Recorder, recording, subclasses_of_function

CHECK_SECONDS = 10


class TooLong(BaseException):
    """Raised in the package's code after a time limit."""


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
        if self.package == "autograd":
            self._call_primitives()

    def check(self):
        self.recorder.off = True
        groups = {}
        for call in self.recorder.calls.values():
            groups.setdefault(call.name, []).append(call)
        defined = self._defined()
        self.say(event="found", functions=sorted(set(groups) | set(defined)),
                 uncalled=sorted(set(defined) - set(groups)))
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
                if isinstance(error, KeyboardInterrupt):
                    raise
                self.say(event="not imported", module=module.name, error=f"{type(error).__name__}: {error}")
        return names

    def _run_tests(self, path, seconds):
        """Runs tests, or a script, in a copy of their folder, so that the installed package is imported, not the one
        next to them. Their results do not matter."""
        import pytest
        copy = os.path.join(os.environ["HOME"], "tests")
        shutil.rmtree(copy, ignore_errors=True)
        if os.path.isdir(path):
            shutil.copytree(path, copy)
        else:
            os.makedirs(copy)
            shutil.copy(path, copy)
        with open(os.path.join(copy, "pytest.ini"), "w", encoding="utf-8") as file:
            file.write("[pytest]\npython_files = test_*.py *_test.py *_tests.py test*.py\n")
        limit = min(seconds, self.deadline - time.monotonic())
        here, log = os.getcwd(), os.path.join(os.environ["HOME"], "tests.log")
        os.chdir(copy)
        try:
            with open(log, "w", encoding="utf-8") as file, contextlib.redirect_stdout(file), \
                    contextlib.redirect_stderr(file), at_most(limit):
                if os.path.isfile(path) and "test" not in os.path.basename(path):
                    runpy.run_path(os.path.basename(path), run_name="__main__")
                else:
                    pytest.main(["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", "-c", "pytest.ini",
                                 "--rootdir", copy, copy])
        except TooLong:
            self.say(event="tests stopped", path=path, seconds=limit)
        except Exception as error:  # pylint: disable=broad-except
            self.say(event="tests stopped", path=path, error=f"{type(error).__name__}: {error}")
        finally:
            os.chdir(here)
        with open(log, encoding="utf-8", errors="replace") as file:
            self.say(event="tests", path=path, end=file.read()[-300:].strip().splitlines()[-1:])

    def _call_primitives(self):
        """Calls each differentiable primitive of autograd with arrays of several shapes."""
        from autograd import make_vjp
        from autograd.core import primitive_vjps
        rng = numpy.random.default_rng(1)
        shapes = ((), (3,), (3, 2), (2, 3, 3))
        with recording(self.recorder):
            for f in primitive_vjps:
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
        counts = {"calls": self.recorder.seen.get(name, 0), "samples": 0, "PASS": 0, "FAIL": 0, "INCONCLUSIVE": 0,
                  "UNIMPLEMENTED": 0, "rejected": 0}
        problems = {}
        rng = numpy.random.default_rng(5)
        queues = [vary.variations(call, [c for c in calls if c is not call], rng) for call in calls]
        for call, queue in zip(calls, queues):
            for label, args, kwargs in queue:
                if time.monotonic() > until:
                    break
                self._check_sample(call, label, args, kwargs, until, counts, problems)
        constants = sorted({call.argument_names()[k] for call in calls for k in call.constants})
        if constants:
            self.say(event="constants", function=name, inputs=constants)
        for (order, kind), found in sorted(problems.items()):
            found.sort(key=lambda p: (p["label"] != "as recorded", p["elements"]))
            if kind == "edge" and any(other in problems for other in ((order, "wrong"), (order, "throws"))):
                continue
            first = found[0]
            self.say(event="finding", function=name, order=order, kind=kind, error=first["error"],
                     causes=first["causes"], inputs=first["wrong"], sample=first["label"],
                     samples=len(found), labels=sorted({p["label"] for p in found}),
                     report=first["report"], **self._reproduction(first, order))
        self.say(event="function", function=name, seconds=round(time.monotonic() - until + seconds, 1), **counts)

    def _check_sample(self, call, label, args, kwargs, until, counts, problems):
        left = until - time.monotonic()
        try:
            with at_most(min(CHECK_SECONDS, left) + 5), warnings.catch_warnings(), \
                    contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                warnings.simplefilter("ignore")
                if not classify.takes(call, args, kwargs):
                    counts["rejected"] += 1
                    return
                budget = max(0.5, min(CHECK_SECONDS, left))
                report = classify.check(call, args, kwargs, budget, label == "as recorded")
                counts["samples"] += 1
                counts[report.verdict] += 1
                if report or report.verdict == "INCONCLUSIVE":
                    return
                order, kind, error, causes, wrong = classify.classified(report, label)
                if kind in ("wrong", "accuracy", "edge") and self._is_convention(call, args, kwargs, report, order):
                    kind = "convention"
        except (Exception, TooLong) as problem:  # pylint: disable=broad-except
            counts["INCONCLUSIVE"] += 1
            self.say(event="stopped", function=call.name, sample=label, error=f"{type(problem).__name__}: {problem}")
            return
        elements = sum(a.size for a in args if isinstance(a, numpy.ndarray))
        problems.setdefault((order, kind), []).append(
            {"label": label, "error": error, "causes": causes, "wrong": wrong, "elements": elements, "call": call,
             "args": args, "kwargs": kwargs, "report": str(report)})

    @staticmethod
    def _is_convention(call, args, kwargs, report, order):
        if order == 1 and classify.is_tangent(call, report, args, kwargs):
            return True
        torch = call.kind.startswith("torch")
        return any(mapped and classify.check(call, args, kwargs, CHECK_SECONDS, False, mapped=mapped)
                   for mapped in (classify.on_the_manifold(args, torch), torch and classify.without_gauge))

    def _reproduction(self, problem, order):
        call, names = problem["call"], problem["call"].argument_names()
        at = [names.index(n) for n in problem["wrong"] if n in names]
        if not at:
            return {"program": "", "reproduced": False, "why_not": "the finding belongs to no argument"}
        try:
            text = reproduce.program(call, problem["args"], problem["kwargs"], at[0], order)
            with at_most(20), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                shown, printed = reproduce.shows(text)
            return {"program": text, "reproduced": shown, "printed": printed}
        except (reproduce.NoProgram, TooLong) as reason:
            return {"program": "", "reproduced": False, "why_not": str(reason)}
        except Exception:  # pylint: disable=broad-except
            return {"program": "", "reproduced": False, "why_not": traceback.format_exc(limit=2)}


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
