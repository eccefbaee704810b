"""The command `gradus-check hunt`."""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

from .record import MOST_ELEMENTS

RESTARTS = 10  # after crashes


def parser():
    result = argparse.ArgumentParser(prog="gradus-check", description="Checks hand-written derivatives.")
    commands = result.add_subparsers(dest="command", required=True)
    hunt = commands.add_parser("hunt", help="check the derivatives that a package's tests call",
                               description="Runs a package's tests, records calls of its hand-written derivatives "
                               "(torch.autograd.Function, custom ops, defvjp, custom_vjp), varies their inputs, and "
                               "checks each one. The package runs in a process without network and with a "
                               "temporary home.")
    hunt.add_argument("package", help="an installed package, by the name that Python imports")
    hunt.add_argument("--tests", action="append", default=[], metavar="PATH",
                      help="a folder or file of tests or examples to run; repeatable")
    hunt.add_argument("--budget", type=_positive, default=600, metavar="SECONDS", help="for all of it (default: 600)")
    hunt.add_argument("--test-seconds", type=_positive, default=180, metavar="SECONDS",
                      help="for each --tests (default: 180)")
    hunt.add_argument("--memory", type=_positive, default=8, metavar="GB", help="limit of the process (default: 8)")
    hunt.add_argument("--out", default="", metavar="FILE", help="writes JSON lines to FILE, which must not exist")
    hunt.add_argument("--programs", default="", metavar="FOLDER", help="writes the reproductions to FOLDER")
    return result


def _positive(text):
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"must be above 0, got {text}")
    return value


def run(argv=None):
    options = parser().parse_args(argv)
    for path in options.tests:
        if not os.path.exists(path):
            sys.exit(_misuse(f"--tests {path} does not exist"))
    if options.out and os.path.exists(options.out):
        sys.exit(_misuse(f"--out {options.out} exists. Choose another name"))
    entries = hunted(options)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in entries)
    if options.programs:
        write_programs(entries, options.programs)
    print(summary(entries), end="")
    if not any(e["event"] == "found" for e in entries):
        sys.exit(2)
    sys.exit(1 if any(e["event"] in ("finding", "crash") for e in entries) else 0)


def _misuse(message):
    print(f"gradus-check: {message}", file=sys.stderr)
    return 2


def hunted(options):
    """All entries that the worker writes. A crash ends the check of one function; the others go on."""
    with tempfile.TemporaryDirectory() as home:
        out, skip, entries = os.path.join(home, "out.jsonl"), [], []
        open(out, "w", encoding="utf-8").close()
        for _ in range(RESTARTS):
            orders = {"package": options.package, "tests": [os.path.abspath(p) for p in options.tests], "out": out,
                      "budget": options.budget, "test_seconds": options.test_seconds, "skip": skip}
            code, said = _work(orders, home, options)
            with open(out, encoding="utf-8") as file:
                entries = [json.loads(line) for line in file]
            if any(e["event"] == "done" for e in entries):
                break
            started = [e["function"] for e in entries if e["event"] == "start"]
            ended = [e["function"] for e in entries if e["event"] == "function"]
            crashed = [name for name in started if name not in ended and name not in skip]
            with open(out, "a", encoding="utf-8") as file:
                file.write(json.dumps({"event": "crash", "function": crashed[0] if crashed else "", "code": code,
                                       "error": said}) + "\n")
            if not crashed:
                break
            skip += ended + crashed
        with open(out, encoding="utf-8") as file:
            return [json.loads(line) for line in file]


def _work(orders, home, options):
    """Runs the worker. Returns its exit code and the end of its messages."""
    def limit():
        size = int(options.memory * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    environment = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH")}
    paths = [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    environment |= {"PYTHONPATH": os.pathsep.join(paths), "HOME": home, "TMPDIR": home,
                    "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
                    "MPLBACKEND": "Agg", "CUDA_VISIBLE_DEVICES": "", "JAX_ENABLE_X64": "1"}
    process = subprocess.Popen([*_without_network(), sys.executable, "-m", "gradus_check.hunt.worker",
                                json.dumps(orders)], cwd=home, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limit, text=True,
                               errors="replace")
    try:
        said = process.communicate(timeout=options.budget + 120)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        said = process.communicate()[1] + f"\nno end after {options.budget + 120:.0f} s"
    return process.returncode, said.strip()[-2000:]


def _without_network():
    """A prefix that takes the network away from a process, where the system allows it."""
    prefix = ["unshare", "--user", "--map-current-user", "--net"]
    try:
        works = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        works = False
    return prefix if works else []


def write_programs(entries, folder):
    os.makedirs(folder, exist_ok=True)
    for e in entries:
        if e["event"] == "finding" and e.get("program"):
            why = "_".join(sorted(set(e["causes"].values()))) if e["kind"] == "wrong" else ""
            name = re.sub(r"[^\w.]+", "_", f"{e['function']}_{e['order']}_{e['kind']}_{why}").strip("_") + ".py"
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(e["program"])


def summary(entries):
    """A table of functions, and a line for each finding."""
    functions = [e for e in entries if e["event"] == "function"]
    findings = [e for e in entries if e["event"] == "finding"]
    lines = []
    for e in entries:
        if e["event"] == "crash":
            lines.append(f"crash in {e['function'] or 'the package'} (exit code {e['code']}): "
                         f"{e['error'].splitlines()[-1] if e['error'] else ''}")
    for f in findings:
        order = "" if f["order"] == 1 else ", second derivative"
        causes = ", ".join(sorted(set(f["causes"].values()))) or "no pattern"
        lines.append(f"{f['kind']}: {f['function']}{order}, by {', '.join(f['inputs'])}: {causes}; "
                     f"error {f['error']:.2g}; {f['sample']}; {'reproduced' if f['reproduced'] else 'not reproduced'}")
    lines += [f"tests {e['path']}: {' '.join(e['end']) or 'no output'}" for e in entries if e["event"] == "tests"]
    classes = {}
    for f in findings:
        classes[f["kind"]] = classes.get(f["kind"], 0) + 1
    found = [e for e in entries if e["event"] == "found"]
    uncalled = sum(len(e["uncalled"]) for e in found[-1:])
    lines += [f"{name} was only called with more than {MOST_ELEMENTS} elements" for e in found[-1:]
              for name in e["large"]]
    total = {k: sum(f[k] for f in functions) for k in ("samples", "PASS", "FAIL", "INCONCLUSIVE")}
    lines.append(f"{len(functions)} functions checked, {uncalled} never called; {total['samples']} samples: "
                 f"{total['PASS']} pass, {total['FAIL']} fail, {total['INCONCLUSIVE']} inconclusive; findings: " +
                 (", ".join(f"{n} {k}" for k, n in sorted(classes.items())) or "none"))
    return "\n".join(lines) + "\n"
