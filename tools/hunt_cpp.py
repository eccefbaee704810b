#!/usr/bin/env python3
"""Compiles and runs the sweeps in tools/hunt_cpp/ for the packages that are installed.

    tools/hunt_cpp.py [name ...]      # default: all; prints one table and the new failures

Not part of the build or the tests. docs/found/cpp.md has the results."""
import argparse
import glob
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAN = "/usr/lib/R/site-library/StanHeaders/include"
PACKAGES = {  # sweep: Debian package, a header, flags
    "ceres": ("libceres-dev", "/usr/include/ceres/jet.h", ["-lceres", "-lglog"]),
    "eigen": ("libeigen3-dev", "/usr/include/eigen3/unsupported/Eigen/AutoDiff", []),
    "opencv": ("libopencv-calib3d-dev", "/usr/include/opencv4/opencv2/calib3d.hpp",
               ["-I/usr/include/opencv4", "-lopencv_calib3d", "-lopencv_core"]),
    "mrpt": ("libmrpt-poses-dev", "/usr/include/mrpt/poses/include/mrpt/poses/CPose3D.h",
             ["-I" + folder for folder in glob.glob("/usr/include/mrpt/*/include")]
             + ["-lmrpt-" + lib for lib in ("poses", "math", "serialization", "rtti", "core")]),
    "stan": ("r-cran-stanheaders", STAN + "/stan/math.hpp",
             ["-D_REENTRANT", "-DTBB_INTERFACE_NEW", "-I" + STAN, "-ltbb"]),
    "dlib": ("libdlib-dev", "/usr/include/dlib/dnn.h", ["-O1", "-ldlib", "-lblas", "-llapack"]),
    "adolc": ("libadolc-dev", "/usr/include/adolc/adolc.h", ["-ladolc"]),
    "boost": ("libboost-dev", "/usr/include/boost/math/differentiation/autodiff.hpp", ["-lgsl", "-lgslcblas"]),
}
TRIAGED = [  # sweep, function, point: reason
    ("", r".*", r"(0 )*0 *$", "edge or documented: pow, atan2, hypot, copysign, bessel at 0"),
    ("ceres", r"floor|ceil|copysign.*|pow.*|expm1.*", r".*", "not differentiable, or rounding of the value"),
    ("ceres", r"AngleAxis(ToRotationMatrix|RotatePoint)", r".*", "first order below 1e-8: documented"),
    ("ceres", r"AngleAxis -> R -> AngleAxis", r".*", "a jump at an angle of pi"),
    ("ceres", r"LineManifold.*|QuaternionToAngleAxis", r".*", "docs/found/cpp.md"),
    ("eigen", r"tanh \(second\)", r".*", "NaN beyond 355: cosh overflows"),
    ("opencv", r".*", r".*(e-\d\d|3\.14).*", "docs/found/cpp.md: angles below 1e-5 and near pi"),
    ("mrpt", r"CPose3DPDF::j.*|CPose3DQuatPDF::j.*|CQuaternion::n.*", r".*", "docs/found/cpp.md: negative real part"),
    ("mrpt", r".*rodrigues.*|S[OE]3::jacob_dexpe_de", r".*", "docs/found/cpp.md"),
    ("mrpt", r"SE3::jacob_dlogv_dv|CPose3DQuat::.*", r".*(0\.001|3\.14).*", "first order below 0.004; near pi"),
    ("mrpt", r"CQuaternion::rpy_and_jacobian", r".*", "known: MRPT/mrpt#1289"),
    ("stan", r".*_l?c?cdf.*|.*(gamma|inc_beta).*|skew_normal.*", r".*", "known: stan-dev/math#2006, #3408; tails"),
    ("stan", r"bernoulli_logit_lpmf.*", r".*", "known: stan-dev/math#3397"),
    ("stan", r"cbrt.*|inv_cloglog.*|beta", r".*", "lost in rounding; a zero between two poles"),
    ("stan", r"fmod.*", r".*", "docs/found/cpp.md"),
    ("stan", r".*factorial.*|.*bessel.*|pow.*|log.*|f(min|max).*", r".*", "NaN or 0 at integers and ties; documented"),
    ("stan", r".*\(second\)", r".*", "points where the function itself is undefined; rounding"),
    ("dlib", r"layer_norm_|loss_multibinary_log_\(2\)", r".*", "docs/found/cpp.md"),
    ("dlib", r"loss_(mean_squared|metric).*", r".*", "known convention: half of the gradient, davisking/dlib#1169"),
    ("dlib", r"elu_.*|max_pool.*", r".*", "float: values within the step of a kink"),
    ("adolc", r"pow.*|atan2.*|sinh|cosh", r".*", "pow at 0; overflow"),
    ("boost", r"cardinal_septic_hermite", r".*", "known: boostorg/math#1455"),
]


def triaged(sweep, function, point):
    return next((why for name, f, p, why in TRIAGED
                 if name in ("", sweep) and re.fullmatch(f, function) and re.fullmatch(p, point)), None)


def run(sweep, flags, folder):
    program = f"{folder}/{sweep}"
    source = ROOT / "tools/hunt_cpp" / f"{sweep}.cpp"
    compiler = ["g++", "-std=c++20", "-w", "-I/usr/include/eigen3", f"-I{ROOT}/build"]
    subprocess.run([*compiler, str(source), "-o", program, *flags], check=True)
    result = subprocess.run([program], capture_output=True, text=True)
    if result.returncode:
        print(f"{sweep} stopped early: {result.stderr.strip()[:200]}")
    return [line.split("\t") for line in result.stdout.splitlines() if line.count("\t") > 2]


def main():
    parser = argparse.ArgumentParser(prog="hunt_cpp.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(PACKAGES))
    names = parser.parse_args().names
    unknown = [name for name in names if name not in PACKAGES]
    if unknown:
        parser.error(f"{unknown[0]} is not a sweep. The sweeps: {', '.join(PACKAGES)}")
    subprocess.run([sys.executable, str(ROOT / "tools/single_header.py")], check=True, stdout=subprocess.DEVNULL)
    print(f"{'package':24}{'version':26}{'functions':>10}{'samples':>9}{'pass':>8}{'unclear':>9}{'fail':>7}{'new':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for sweep in names or PACKAGES:
            package, header, flags = PACKAGES[sweep]
            if not Path(header).exists() or not shutil.which("g++"):
                print(f"{package:24}not installed")
                continue
            query = ["dpkg-query", "-W", "-f", "${Version}", package]
            version = subprocess.run(query, capture_output=True, text=True).stdout
            rows = run(sweep, flags, folder)
            count = {verdict: sum(row[0] == verdict for row in rows) for verdict in ("PASS", "INCONCLUSIVE", "FAIL")}
            new = [row for row in rows if row[0] == "FAIL" and not triaged(sweep, row[1], row[2])]
            print(f"{package:24}{version:26}{len({row[1] for row in rows}):10}{len(rows):9}{count['PASS']:8}"
                  f"{count['INCONCLUSIVE']:9}{count['FAIL']:7}{len(new):6}", flush=True)
            for row in new[:20]:
                print("  " + "  ".join(row)[:200])


if __name__ == "__main__":
    main()
