#!/usr/bin/env python3
"""Trains with portable bits on every platform at hand, and compares the weights.

    tools/same_bits.py                     toy, 20 steps with dropout, on all platforms
    tools/same_bits.py --quick             only build/release: vector widths, threads and processes
    tools/same_bits.py --run cpu           cpu or translate: 200 steps, all rows of build/release
    tools/same_bits.py --build DIR         another build folder for these rows

Prints the SHA-256 of all weights for each platform. Exit code 1 if they differ. The other platforms are g++ and
clang++ at -O1 and -O3, aarch64 under qemu, and WebAssembly under Node.js; each builds gpt in build/same_bits/NAME, in
minutes. A platform with a missing tool is skipped, and its row names the tool."""
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "mpi"))
from run import OPTIONS as MPI_OPTIONS  # noqa: E402  (shared memory and loopback)

TEXT = ROOT / "examples" / "data" / "prose.txt"
RUNS = {
    "toy": ["gpt", "train", str(TEXT), "--config", "toy", "--steps", "20", "--eval-every", "20", "--dropout", "0.1",
            "--shards", "4", "--no-trial"],
    "cpu": ["gpt", "train", str(TEXT), "--config", "cpu", "--steps", "200", "--eval-every", "200", "--dropout", "0.1",
            "--shards", "4", "--batch", "3", "--no-trial"],
    "translate": ["translate", "train", "--steps", "200", "--eval-every", "200", "--dropout", "0.1", "--shards", "4",
                  "--batch", "8"],
}
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
OURS = ("GRADUS_", "OMP_", "OPENBLAS_")


def weights(path):
    """The SHA-256 of names and values of a checkpoint's weights."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    total = hashlib.sha256()
    for name in sorted(name for name in header if name.startswith("model.")):
        begin, end = header[name]["data_offsets"]
        total.update(name.encode() + data[8 + size + begin:8 + size + end])
    return total.hexdigest()


def train(run, folder, before=(), program=None, **environment):
    """Trains in a temporary directory. Returns the hash of the weights, or fails with the program's output."""
    name, *rest = RUNS[run]
    with tempfile.TemporaryDirectory() as place:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
        command = [*before, *(program or [str(folder / name)]), *rest, "--bits", "portable", "--out", f"{place}/run"]
        done = subprocess.run(command, env=clean | environment, capture_output=True, text=True, cwd=ROOT)
        if done.returncode != 0:
            sys.exit(f"same_bits: {' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return weights(Path(place) / "run" / "checkpoint.safetensors")


def levels(folder):
    """The vector widths of this processor."""
    def has(level):
        done = subprocess.run([str(folder / "gpt"), "--build-info", "train"], env=os.environ | {"GRADUS_SIMD": level},
                              capture_output=True, text=True)
        return re.search(rf"^kernels: {level}", done.stderr, re.M)
    return [level for level in ["baseline", "avx2", "avx512"] if has(level)] or [""]


def lacks_mpi(folder):
    if not shutil.which("mpirun"):
        return "mpirun"
    libraries = subprocess.run(["ldd", str(folder / "gpt")], capture_output=True, text=True).stdout
    return "" if "libmpi" in libraries else "a build with MPI"


def rows_of_build(run, folder, quick):
    for level in levels(folder):
        yield f"{level or 'this processor'}, 1 thread", lambda level=level: train(
            run, folder, GRADUS_SIMD=level, GRADUS_NUM_THREADS="1")
    for threads in [2, 8] if quick else range(2, 9):
        yield f"{threads} threads", lambda threads=threads: train(run, folder, GRADUS_NUM_THREADS=str(threads))
    reason = lacks_mpi(folder)
    for processes in [2] if quick else range(2, 5):
        before = ["mpirun", *MPI_OPTIONS, "-np", str(processes)]
        yield f"{processes} processes", reason or (lambda before=before: train(
            run, folder, before, GRADUS_NUM_THREADS="1", **MPI_ENVIRONMENT))


def build(name, *options, before=()):
    """Builds gpt in build/same_bits/NAME."""
    folder = ROOT / "build" / "same_bits" / name
    for command in [[*before, "cmake", "-G", "Ninja", *options, "-DGRADUS_BUILD_TESTS=OFF",
                     "-DGRADUS_BUILD_EXAMPLES=ON", "-B", str(folder)],
                    ["cmake", "--build", str(folder), "--target", "gpt", "-j", str(os.cpu_count() or 1)]]:
        # Debian's emscripten needs its own modules of Node.js.
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True,
                              env={"NODE_PATH": "/usr/share/nodejs"} | os.environ)
        if done.returncode != 0:
            sys.exit(f"same_bits: {' '.join(command)} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return folder


def missing(*programs):
    return next((program for program in programs if not shutil.which(program)), "")


def other_platforms(run):
    for compiler in ["g++", "clang++"]:
        for level in ["-O1", "-O3"]:
            flags = [f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Release",
                     f"-DCMAKE_CXX_FLAGS_RELEASE={level} -DNDEBUG", "-DGRADUS_MPI=OFF"]
            yield f"{compiler} {level}", missing(compiler) or (
                lambda name=f"{compiler}{level}", flags=flags: train(run, build(name, *flags)))
    cross = missing("aarch64-linux-gnu-g++", "qemu-aarch64")
    yield "aarch64 (qemu)", cross or (lambda: train(
        run, build("aarch64", "--preset", "aarch64"), ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]))
    # Emscripten's loader takes a fetch of Node.js for a browser's.
    yield "WebAssembly (Node.js)", missing("emcmake", "node") or (lambda: train(run, None, program=[
        "node", "--no-experimental-fetch", str(build("wasm", "--preset", "wasm", before=["emcmake"]) / "gpt.js")]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", choices=RUNS, default="toy")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", metavar="DIR")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    folder = asked.build.resolve()
    if not (folder / RUNS[asked.run][0]).exists():
        parser.error(f"{folder} has no program {RUNS[asked.run][0]}. Build it, or name another folder with --build")
    rows = [*rows_of_build(asked.run, folder, asked.quick)]
    if asked.run == "toy" and not asked.quick:
        rows += other_platforms(asked.run)
    found = set()
    for name, row in rows:
        if isinstance(row, str):
            print(f"{name:24} skipped: needs {row}", flush=True)
            continue
        result = row()
        found.add(result)
        print(f"{name:24} {result}", flush=True)
    print("all the same" if len(found) == 1 else f"{len(found)} different results")
    return 0 if len(found) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
