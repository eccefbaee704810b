"""Builds the wheel: compiles check/c/gradus_check.cpp and packs it with gradus_check/*.py.

The environment variables CXX (default: c++) and CXXFLAGS (default: -O1) select the compiler and its flags.
"""
import base64
import hashlib
import os
import pathlib
import re
import shlex
import subprocess
import sysconfig
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))


def version():
    with open(os.path.join(TREE, "engine", "base", "version.h"), encoding="utf-8") as header:
        return ".".join(re.findall(r"#define GRADUS_VERSION_\w+ (\d+)", header.read())[:3])


def compile_library(to):
    """Compiles the shared library. The link `gradus` makes the includes gradus/… resolve to this tree."""
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(TREE, os.path.join(folder, "gradus"))
        flags = ["-std=c++20", "-fPIC", "-shared", *shlex.split(os.environ.get("CXXFLAGS", "-O1")), "-I", folder]
        subprocess.run([*shlex.split(os.environ.get("CXX", "c++")), *flags,
                        os.path.join(TREE, "check", "c", "gradus_check.cpp"), "-o", to], check=True)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    tag = "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    info = f"gradus_check-{version()}.dist-info"
    files = {f"{info}/METADATA": f"Metadata-Version: 2.1\nName: gradus-check\nVersion: {version()}\nLicense: MIT\n",
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: gradus\nRoot-Is-Purelib: false\nTag: {tag}\n",
             f"{info}/entry_points.txt": "[pytest11]\ngradus_check = gradus_check._pytest\n"
                                         "[console_scripts]\ngradus-check = gradus_check.hunt:run\n"}
    files = {name: text.encode() for name, text in files.items()}
    for path in sorted(pathlib.Path(HERE, "gradus_check").rglob("*.py")):
        files[path.relative_to(HERE).as_posix()] = path.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "libgradus_check.so")
        compile_library(library)
        with open(library, "rb") as binary:
            files["gradus_check/libgradus_check.so"] = binary.read()
    record = "".join("{},sha256={},{}\n".format(
        name, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data))
        for name, data in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    wheel = f"gradus_check-{version()}-{tag}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return wheel
