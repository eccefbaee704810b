#!/usr/bin/env python3
"""Writes the tensors of a PyTorch file (.pt, .pth, .bin) as safetensors, without PyTorch.

    tools/pt2safetensors.py IN OUT.safetensors

A .pt file is a pickle, which can run any code when loaded. This loader only allows tensors and ordered dictionaries.
It rejects a file that needs another function, and names the function. Names in nested dictionaries are joined with dots.
Values that are not tensors are skipped and listed. Needs only Python."""
import collections
import json
import os
import pickle
import struct
import sys
import zipfile

MAGIC = 0x1950A86A20F9469CFC6C  # the first value of files before PyTorch 1.6, which are not zip archives
Kind = collections.namedtuple("Kind", "name bytes")
KINDS = {"FloatStorage": Kind("F32", 4), "DoubleStorage": Kind("F64", 8), "HalfStorage": Kind("F16", 2),
         "BFloat16Storage": Kind("BF16", 2), "LongStorage": Kind("I64", 8), "IntStorage": Kind("I32", 4),
         "ShortStorage": Kind("I16", 2), "CharStorage": Kind("I8", 1), "ByteStorage": Kind("U8", 1),
         "BoolStorage": Kind("BOOL", 1)}
Storage = collections.namedtuple("Storage", "key kind count")


class Refused(Exception):
    pass


class Tensor:
    """A view of a storage, whose bytes are resolved after the file has been read."""

    def __init__(self, storage, offset, shape, strides, *_):
        sizes = [*shape, *strides, offset]
        if not isinstance(storage, Storage) or len(shape) != len(strides):
            raise Refused("a tensor has no storage, or its shape and strides differ in length")
        if not all(isinstance(n, int) and 0 <= n < 2**48 for n in sizes):
            raise Refused(f"a tensor has invalid sizes, with shape {shape}, strides {strides}, offset {offset}")
        self.storage, self.offset, self.shape, self.strides = storage, offset, list(shape), list(strides)
        last = offset + sum((n - 1) * stride for n, stride in zip(shape, strides))
        if 0 not in shape and last >= storage.count:
            raise Refused(f"a tensor {self.shape} ends at element {last} of a storage of {storage.count} elements")

    def data(self, storages):
        size = self.storage.kind.bytes
        held = storages[self.storage.key]
        count, packed = 1, True
        for n, stride in zip(reversed(self.shape), reversed(self.strides)):
            packed &= n == 1 or stride == count
            count *= n
        if count * size > max(len(held), 1) and not packed:
            raise Refused(f"a tensor {self.shape} repeats elements of its storage")
        if packed or count == 0:
            return held[self.offset * size:(self.offset + count) * size]
        places = [self.offset]
        for n, stride in zip(self.shape, self.strides):
            places = [place + i * stride for place in places for i in range(n)]
        return b"".join(held[place * size:(place + 1) * size] for place in places)


class Unpickler(pickle.Unpickler):
    """Allows only these names."""
    NAMES = {("collections", "OrderedDict"): collections.OrderedDict,
             ("torch._utils", "_rebuild_tensor_v2"): Tensor,
             ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
             **{("torch", name): kind for name, kind in KINDS.items()}}

    def find_class(self, module, name):
        if (module, name) not in self.NAMES:
            raise Refused(f"the file uses {module}.{name}, which is not a tensor or a dictionary. Save only the "
                          "state_dict()")
        return self.NAMES[module, name]

    def persistent_load(self, identity):
        if not (isinstance(identity, tuple) and len(identity) >= 5 and identity[0] == "storage"
                and isinstance(identity[1], Kind) and isinstance(identity[2], str) and isinstance(identity[4], int)):
            raise Refused("a storage has an unknown type")
        if len(identity) > 5 and identity[5] is not None:
            raise Refused("a storage is part of another one, which is not supported")
        return Storage(identity[2], identity[1], identity[4])


def load_zip(path):
    with zipfile.ZipFile(path) as archive:
        roots = [name[:-len("data.pkl")] for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(roots) != 1:
            raise Refused(f"the zip archive must have 1 file data.pkl, but has {len(roots)}")
        root = roots[0]
        if root + "byteorder" in archive.namelist() and archive.read(root + "byteorder") != b"little":
            raise Refused("the values are big-endian, which is not supported")
        with archive.open(root + "data.pkl") as file:
            value = Unpickler(file).load()
        keys = {tensor.storage.key for _, tensor in tensors_in(value, [])}
        return value, {key: archive.read(f"{root}data/{key}") for key in keys}


def load_legacy(path):
    with open(path, "rb") as file:
        def next_value():
            return Unpickler(file).load()
        if next_value() != MAGIC:
            raise Refused("this is neither a zip archive nor a PyTorch file. Give a file that torch.save wrote")
        next_value()  # the version
        facts = next_value()
        if not isinstance(facts, dict) or facts.get("little_endian") is False:
            raise Refused("the values are big-endian, which is not supported")
        value = next_value()
        bytes_of = {tensor.storage.key: tensor.storage.kind.bytes for _, tensor in tensors_in(value, [])}
        storages = {}
        for key in next_value():
            count, = struct.unpack("<q", file.read(8))
            if key not in bytes_of:
                raise Refused(f"storage {key!r} belongs to no tensor, so its size is unknown")
            storages[key] = file.read(max(count, 0) * bytes_of[key])
        return value, storages


def tensors_in(value, left_out, name="", depth=0):
    """Yields [name, tensor] for nested dictionaries and lists. Adds the names of other values to left_out."""
    if isinstance(value, Tensor):
        return [(name, value)]
    if depth > 20:
        raise Refused(f"{name} is nested more than 20 levels deep")
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    else:
        left_out.append(name or "the file's only value")
        return []
    found = []
    for key, part in parts:
        found += tensors_in(part, left_out, f"{name}.{key}" if name else str(key), depth + 1)
    return found


def safetensors(tensors, storages):
    """The parts of the file."""
    header, data, place = {"__metadata__": {"format": "pt"}}, [], 0
    for name, tensor in sorted(tensors, key=lambda each: (-each[1].storage.kind.bytes, each[0])):
        if name in header or not name:
            raise Refused(f"the name {name!r} is empty or appears twice")
        kind, held = tensor.storage.kind, storages.get(tensor.storage.key, b"")
        if len(held) != tensor.storage.count * kind.bytes:
            raise Refused(f"{name}: a storage of {tensor.storage.count} {kind.name} has {len(held)} bytes, "
                          "so the file may be truncated")
        data.append(tensor.data(storages))
        header[name] = {"dtype": kind.name, "shape": tensor.shape, "data_offsets": [place, place + len(data[-1])]}
        place += len(data[-1])
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [struct.pack("<Q", len(text)), text, *data]


def convert(source, target):
    left_out = []
    value, storages = (load_zip if zipfile.is_zipfile(source) else load_legacy)(source)
    tensors = tensors_in(value, left_out)
    if not tensors:
        raise Refused("the file contains no tensors")
    parts = safetensors(tensors, storages)
    with open(target + ".tmp", "wb") as file:
        file.writelines(parts)
    os.replace(target + ".tmp", target)
    for name in left_out:
        print(f"pt2safetensors: skipped {name}, which is not a tensor", file=sys.stderr)
    print(f"{target}: {len(tensors)} tensors, {sum(map(len, parts))} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    try:
        convert(sys.argv[1], sys.argv[2])
    except Exception as error:  # a pickle can fail in any way: report it in one line
        print(f"pt2safetensors: {sys.argv[1]}: {' '.join(str(error).split()) or type(error).__name__}", file=sys.stderr)
        sys.exit(2)
