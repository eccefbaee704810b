#!/usr/bin/env python3
"""Runs the tests in every configuration that this machine supports, and prints a table. Takes hours.

    ./test.sh --everything                       all parts in sequence, even if one fails
    ./test.sh --everything --only asan,threads   parts whose name begins with one of these
    ./test.sh --everything --list                lists the parts

The output of each part is in build/everything/PART.log. The exit code is 1 if a part failed. Nothing is installed.
A part with a missing dependency is skipped, and its row names the dependency. CATCH2_V2 and CATCH2_V3 are folders
with an installation of that Catch2 version, in addition to the default one."""
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "everything"
CORES = str(os.cpu_count() or 1)
REPEATS = 20
FUZZ_SECONDS = 60
MUTANTS = 1000
QUICK = ["-LE", "nightly"]  # nightly tests run once, in the release build
# These tests inspect the tree or build their own programs, so vectors and threads do not matter.
ELSEWHERE = "^(house|outside|consumer|own_model|tools|simd|fuzz)/"


@dataclass
class Part:
    name: str
    about: str
    commands: list  # run in sequence until one fails
    environment: dict = field(default_factory=dict)
    lacks: object = lambda: ""  # why it cannot run here


def compiles(compiler, *flags, code="int main() {}"):
    if not shutil.which(compiler):
        return False
    return subprocess.run([compiler, *flags, "-x", "c++", "-", "-o", os.devnull], input=code.encode(),
                          capture_output=True).returncode == 0


def lacks_clang(*flags, packages="clang libomp-dev"):
    return "" if compiles("clang++", *flags) else f"clang++ {' '.join(flags)} does not work. Run apt-get install {packages}"


def lacks_width(level, flags):
    try:
        known = set(re.search(r"^flags\s*:(.*)", Path("/proc/cpuinfo").read_text(), re.M)[1].split())
    except (OSError, TypeError):
        return "/proc/cpuinfo does not list the processor's features"
    missing = [flag for flag in flags if flag not in known]
    return f"this processor has no {missing[0]}" if missing else ""


def lacks_programs(*programs, packages):
    missing = [program for program in programs if not shutil.which(program)]
    return f"{missing[0]} is not installed. Run apt-get install {packages}" if missing else ""


def lacks_zig():
    if not (shutil.which("zig") or shutil.which("python-zig")):
        return "zig is not installed. Run pip install ziglang"
    return "" if Path("/usr/include/catch2/catch.hpp").exists() else "needs Catch2 2, whose headers are all of it"


def lacks_catch(version):
    prefix = os.environ.get(f"CATCH2_V{version}")
    if prefix:
        return "" if Path(prefix).is_dir() else f"CATCH2_V{version}={prefix} is not a folder"
    header = {2: "catch.hpp", 3: "catch_all.hpp"}[version]
    if compiles("c++", "-fsyntax-only", code=f"#include <catch2/{header}>\n"):
        return f"the release part uses it, as Catch2 {version} is installed"
    return f"no Catch2 {version}; set CATCH2_V{version}=FOLDER, made by cmake --install --prefix FOLDER"


def built(folder, *options, preset="release"):
    """Commands that build all tests and programs in build/FOLDER."""
    binary = f"build/{folder}"
    return [["cmake", "--preset", preset, "-B", binary, "-DGRADUS_BUILD_TESTS=ON", "-DGRADUS_BUILD_EXAMPLES=ON",
             *options], ["cmake", "--build", binary, "-j", CORES]]


def tested(folder, *options):
    return [["ctest", "--test-dir", f"build/{folder}", "--output-on-failure", "--no-tests=error", "-j", CORES,
             *options]]


def preset_part(name, about, **more):
    test = [["ctest", "--preset", name, "-j", CORES, *QUICK]]  # for the environment that sanitizers need
    return Part(name, about, built(name, preset=name) + test, **more)


def library_part(name, about, **more):
    """A preset without programs."""
    return Part(name, about, [["cmake", "--preset", name], ["cmake", "--build", "--preset", name, "-j", CORES],
                              ["ctest", "--preset", name, "-j", CORES, *QUICK]], **more)


def day_ago():
    """The last commit older than a day, or the first one."""
    for which in (["--before=1 day ago", "-1"], ["--max-parents=0"]):
        done = subprocess.run(["git", "rev-list", *which, "HEAD"], cwd=ROOT, capture_output=True, text=True)
        if done.stdout.split():
            return done.stdout.split()[0]
    return "HEAD"


def parts():
    release = built("release") + [["cmake", "--build", "build/release", "--target", "nightly", "-j", CORES]]
    inside = tested("release", *QUICK, "-E", ELSEWHERE)
    without_portable = tested("release", *QUICK, "-E", f"{ELSEWHERE}|portable")  # portable bits refuse a library
    widths = {"baseline": [], "avx2": ["avx2", "fma", "bmi1", "bmi2"],
              "avx512": ["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]}
    all_parts = [Part("release", "all tests of the default build", release + tested("release"))]
    for width, flags in widths.items():
        all_parts.append(Part(f"simd-{width}", f"GRADUS_SIMD={width}", release + inside, {"GRADUS_SIMD": width},
                              lambda width=width, flags=flags: lacks_width(width, flags)))
    for threads in range(1, 5):
        all_parts.append(Part(f"threads-{threads}", f"GRADUS_NUM_THREADS={threads}", release + inside,
                              {"GRADUS_NUM_THREADS": str(threads)}))
    for blas, others in [("builtin", inside), ("library", without_portable)]:
        all_parts.append(Part(f"blas-{blas}", f"GRADUS_BLAS={blas}: the matmul backend", release + others,
                              {"GRADUS_BLAS": blas}))
    for version in [2, 3]:
        prefix = os.environ.get(f"CATCH2_V{version}", "")
        all_parts.append(Part(f"catch2-v{version}", f"with Catch2 {version}",
                              built(f"catch2-v{version}", f"-DCMAKE_PREFIX_PATH={prefix}") +
                              tested(f"catch2-v{version}", *QUICK), lacks=lambda version=version: lacks_catch(version)))
    return all_parts + [
        Part("clang", "clang instead of g++", built("clang", "-DCMAKE_CXX_COMPILER=clang++") + tested("clang", *QUICK),
             lacks=lambda: lacks_clang("-fopenmp")),
        library_part("libcxx", "clang with LLVM's C++ library", lacks=lambda: lacks_clang(
            "-stdlib=libc++", "-fopenmp", packages="clang libc++-dev libc++abi-dev libomp-dev")),
        Part("musl", "another C library", [["tools/musl.sh"]], lacks=lacks_zig),
        library_part("bits32", "32-bit x86", lacks=lambda: lacks_programs(
            "i686-linux-gnu-g++", packages="g++-i686-linux-gnu")),
        preset_part("debug", "-Og"),
        preset_part("step", "-O0, one thread, plain loops"),
        preset_part("asan", "addresses, leaks, undefined behavior"),
        preset_part("tsan", "data races", lacks=lambda: lacks_clang("-fopenmp", "-fsanitize=thread")),
        Part("tidy", "clang-tidy over the library", [["cmake", "--preset", "tidy"],
             ["cmake", "--build", "--preset", "tidy", "-j", CORES]],
             lacks=lambda: lacks_programs("clang++", "clang-tidy", packages="clang clang-tidy")),
        Part("aarch64", "another architecture, under qemu", [["tools/aarch64.sh"]], lacks=lambda: lacks_programs(
            "aarch64-linux-gnu-g++", "qemu-aarch64", packages="g++-aarch64-linux-gnu qemu-user")),
        Part("fuzz", f"each fuzz target for {FUZZ_SECONDS} s", [["tools/fuzz.sh", str(FUZZ_SECONDS)]],
             lacks=lambda: lacks_clang("-fsanitize=address", packages="clang libclang-rt-dev")),
        Part("mutants", f"hints: {MUTANTS} mutants of the last day's changes, and which survive",
             [["tools/mutate/run.py", day_ago(), "--sample", str(MUTANTS)]]),
        Part("repeat", f"the suite {REPEATS} times while all cores are busy",
             release + [["tools/under_load.py", "--times", str(REPEATS), "--", *QUICK]]),
    ]


def run(part, log):
    """Returns the command that failed, or nothing."""
    for command in part.commands:
        log.write(f"$ {' '.join(command)}\n".encode())
        log.flush()
        try:
            code = subprocess.run(command, cwd=ROOT, env={**os.environ, **part.environment}, stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=subprocess.STDOUT).returncode
        except OSError as error:
            log.write(f"{error}\n".encode())
            code = 127
        if code != 0:
            return command
    return None


def summary(text):
    """A short summary of ctest's output."""
    tests = re.findall(r"tests passed(?:, (\d+) tests failed)? out of (\d+)", text)  # newer ctests omit a 0
    if not tests:
        return ""
    failed = re.findall(r"^\s*\d+ - (.*?) \((?!Skipped|Disabled|Not Run \(Disabled)[^)]*\)$", text, re.M)
    skipped = len(re.findall(r"^\s*\d+ - .* \(Skipped\)$", text, re.M))
    words = f"{tests[-1][1]} tests" + (f", {skipped} skipped" if skipped else "")
    return words + (f", {tests[-1][0]} failed: {'; '.join(failed[:3])}" if failed else "")


def result_of(part, logs):
    """Runs a part. Returns 'passed', 'failed' or 'skipped', its seconds, the reason or a summary, and the command that
    failed. The output is in LOGS/PART.log."""
    reason = part.lacks()
    if reason:
        return "skipped", 0, reason, None
    logs.mkdir(parents=True, exist_ok=True)
    path = logs / f"{part.name}.log"
    start = time.monotonic()
    with open(path, "wb") as log:
        failed = run(part, log)
    return ("failed" if failed else "passed", time.monotonic() - start, summary(path.read_text(errors="replace")),
            failed)


def run_and_report(part):
    """Returns 'passed', 'failed' or 'skipped', and prints the part's row."""
    result, seconds, words, failed = result_of(part, LOGS)
    at = ""
    if failed:
        words = words or " ".join(failed[:3])
        at = f" ({(LOGS / part.name).relative_to(ROOT)}.log)"
    print(f"{part.name:16} {seconds / 60:8.1f}  {'FAILED' if failed else result}{': ' if words else ''}{words}{at}",
          flush=True)
    return result


def selection(arguments, all_parts, program, about):
    """The parts to run, or the exit code after --list, --help or a wrong option."""
    words, listed = [], False
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--list":
            listed = True
        elif argument == "--only" and rest:
            words += rest.pop(0).split(",")
        elif argument in ("--help", "-h"):
            print(about)
            return 0
        else:
            print(f"{program}: unknown option '{argument}'. Use --only PART,…, --list or --help", file=sys.stderr)
            return 2
    unknown = [word for word in words if not any(part.name.startswith(word) for part in all_parts)]
    if unknown:
        print(f"{program}: no part begins with '{unknown[0]}'. Parts: {' '.join(part.name for part in all_parts)}",
              file=sys.stderr)
        return 2
    selected = [part for part in all_parts if not words or part.name.startswith(tuple(words))]
    if listed:
        for part in selected:
            print(f"{part.name:16} {part.about}")
        return 0
    return selected


def main(arguments, all_parts):
    selected = selection(arguments, all_parts, "everything", __doc__)
    if isinstance(selected, int):
        return selected
    print(f"{'part':16} {'minutes':>8}  result")
    start = time.monotonic()
    results = [run_and_report(part) for part in selected]
    counts = ", ".join(f"{results.count(each)} {each}" for each in ["passed", "failed", "skipped"])
    print(f"{len(results)} parts: {counts}; {(time.monotonic() - start) / 60:.1f} minutes")
    return 1 if "failed" in results else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], parts()))
