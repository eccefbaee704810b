#!/usr/bin/env python3
"""Tests tools/pt2safetensors.py on files in PyTorch's format, made without PyTorch: conversions and rejections."""
import collections
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import types
import unittest
import zipfile
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "pt2safetensors.py"
MAGIC = 0x1950A86A20F9469CFC6C


def stand_in(module, name):
    """An object that is pickled under a PyTorch name."""
    def it():
        pass
    it.__module__, it.__qualname__, it.__name__ = module, name, name
    setattr(sys.modules.setdefault(module, types.ModuleType(module)), name, it)
    return it


REBUILD = stand_in("torch._utils", "_rebuild_tensor_v2")
FLOATS, LONGS = stand_in("torch", "FloatStorage"), stand_in("torch", "LongStorage")
Storage = collections.namedtuple("Storage", "kind key count")


class Tensor:
    def __init__(self, storage, shape, strides, offset=0):
        self.parts = (storage, offset, shape, strides, False, collections.OrderedDict())

    def __reduce__(self):
        return REBUILD, self.parts


class Evil:
    def __reduce__(self):
        return os.system, ("touch evil",)


class Pickler(pickle.Pickler):
    more = ()

    def persistent_id(self, value):
        if not isinstance(value, Storage):
            return None
        return "storage", value.kind, value.key, "cpu", value.count, *self.more


class Legacy(Pickler):
    more = (None,)


def pickled(value, pickler=Pickler):
    out = io.BytesIO()
    pickler(out, protocol=2).dump(value)
    return out.getvalue()


def zipped(value, storages):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("model/data.pkl", pickled(value))
        for key, content in storages.items():
            archive.writestr(f"model/data/{key}", content)
    return out.getvalue()


def legacy(value, storages, sizes):
    facts = {"protocol_version": 1001, "little_endian": True}
    out = b"".join(pickled(each, Legacy) for each in (MAGIC, 1001, facts, value, sorted(storages)))
    return out + b"".join(struct.pack("<q", len(content) // sizes[key]) + content
                          for key, content in sorted(storages.items()))


F, L = Storage(FLOATS, "0", 6), Storage(LONGS, "1", 2)
BYTES = {"0": struct.pack("<6f", *range(6)), "1": struct.pack("<2q", 7, -8)}
STATE = collections.OrderedDict(a=Tensor(F, (2, 3), (3, 1)), turned=Tensor(F, (3, 2), (1, 3)),
                                part=Tensor(F, (2,), (2,), 1), ids=Tensor(L, (2,), (1,)))


class Conversion(unittest.TestCase):
    def run_tool(self, content):
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "in.pt", Path(folder) / "out.safetensors"
            source.write_bytes(content)
            done = subprocess.run([sys.executable, TOOL, source, target], capture_output=True, text=True, cwd=folder)
            self.assertFalse((Path(folder) / "evil").exists())
            return done, target.read_bytes() if target.exists() else None

    def tensors(self, content):
        done, written = self.run_tool(content)
        self.assertEqual(done.returncode, 0, done.stderr)
        length, = struct.unpack("<Q", written[:8])
        header = json.loads(written[8:8 + length])
        self.assertEqual(header.pop("__metadata__"), {"format": "pt"})
        data, found = written[8 + length:], {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            code, size = {"F32": ("f", 4), "I64": ("q", 8)}[entry["dtype"]]
            found[name] = entry["shape"], list(struct.unpack(f"<{(end - begin) // size}{code}", data[begin:end]))
        return found

    def refused(self, content, message):
        done, written = self.run_tool(content)
        self.assertEqual((done.returncode, written), (2, None))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(message, done.stderr)

    def test_both_formats(self):
        expected = {"a": ([2, 3], [0, 1, 2, 3, 4, 5]), "turned": ([3, 2], [0, 3, 1, 4, 2, 5]), "part": ([2], [1, 3]),
                    "ids": ([2], [7, -8])}
        self.assertEqual(self.tensors(zipped(STATE, BYTES)), expected)
        self.assertEqual(self.tensors(legacy(STATE, BYTES, {"0": 4, "1": 8})), expected)
        nested = {"model": STATE, "epoch": 3}
        self.assertEqual(set(self.tensors(zipped(nested, BYTES))), {"model." + name for name in expected})

    def test_programs_are_not_run(self):
        self.refused(zipped({"a": Evil()}, {}), "system, which is not a tensor or a dictionary")

    def test_views_that_lie(self):
        self.refused(zipped({"a": Tensor(F, (7,), (1,))}, BYTES), "ends at element 6 of a storage of 6 elements")
        self.refused(zipped({"a": Tensor(F, (2**30, 6), (0, 1))}, BYTES), "repeats elements")
        self.refused(zipped({"a": Tensor(F, (-1,), (1,))}, BYTES), "with shape")
        self.refused(zipped({"a": Tensor(F, (6,), (1,))}, {"0": b"1234"}), "has 4 bytes, so the file may be truncated")

    def test_no_such_files(self):
        self.refused(b"", "Ran out of input")
        self.refused(pickled([1]), "neither a zip archive nor a PyTorch file")
        self.refused(zipped({"a": 1}, {}), "contains no tensors")
        whole = legacy(STATE, BYTES, {"0": 4, "1": 8})
        for size in range(0, len(whole), 40):
            self.refused(whole[:size], "pt2safetensors: ")


if __name__ == "__main__":
    unittest.main()
