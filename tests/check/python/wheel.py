#!/usr/bin/env python3
"""Builds the wheel like pip, without a network, and unpacks it: wheel.py FOLDER."""
import glob
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.join(HERE, "..", "..", "..", "check", "python")


def main():
    to = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        if importlib.util.find_spec("pip"):
            subprocess.run([sys.executable, "-m", "pip", "wheel", PROJECT, "-w", folder, "--no-deps", "--no-index"],
                           check=True)
        else:
            sys.path.insert(0, PROJECT)
            import build_wheel
            build_wheel.build_wheel(folder)
        (wheel,) = glob.glob(os.path.join(folder, "gradus_check-*.whl"))
        shutil.rmtree(to, ignore_errors=True)
        with zipfile.ZipFile(wheel) as archive:
            if archive.testzip() is not None:
                sys.exit("the wheel is damaged")
            archive.extractall(to)
    print(os.path.basename(wheel))


if __name__ == "__main__":
    main()
