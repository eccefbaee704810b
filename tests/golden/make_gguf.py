#!/usr/bin/env python3
"""A small GGUF file with every supported storage type, and its tensors as the `gguf` package dequantizes them.

  make_gguf.py DIR                 writes DIR/small.gguf and DIR/expected.safetensors
  make_gguf.py expected FILE OUT   the tensors of any GGUF file; then
      GRADUS_GGUF=FILE GRADUS_EXPECTED=OUT gradus_tests_io "helper: compare tensors"

tests/golden/gguf was made with gguf 0.19.0 and numpy 2.4.6 by `make_gguf.py tests/golden/gguf`."""
import sys
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, GGUFWriter
from gguf.quants import dequantize, quantize
from safetensors.numpy import save_file

HALVES = {Type.Q8_0: 1, Type.Q4_0: 1, Type.Q4_1: 2}  # f16 values at the start of a block


def any_blocks(rng, kind, rows, columns):
    """Random bits, except for finite scales of all sizes and both signs."""
    sizes = {Type.Q8_0: 34, Type.Q4_0: 18, Type.Q4_1: 20}
    blocks = rng.integers(0, 256, (rows, columns // 32, sizes[kind]), dtype=np.uint8)
    scales = (rng.standard_normal((rows, columns // 32, HALVES[kind])) *
              10.0 ** rng.integers(-7, 4, (rows, columns // 32, HALVES[kind]))).astype(np.float16)
    blocks[:, :, :2 * HALVES[kind]] = scales.view(np.uint8)
    return blocks.reshape(rows, -1)


def main(folder):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(22)
    writer = GGUFWriter(folder / "small.gguf", "llama")
    writer.add_block_count(2)
    writer.add_rope_freq_base(10000.5)
    writer.add_bool("some.flag", True)
    writer.add_int8("some.negative", -3)
    writer.add_uint64("some.large", 2**40)
    writer.add_array("some.numbers", [1, 2, 3])
    writer.add_array("some.floats", [0.5, -1.25])
    writer.add_array("some.texts", ["a", "é", ""])
    floats = rng.standard_normal((3, 5)).astype(np.float32)
    writer.add_tensor("f32", floats)
    writer.add_tensor("f16", floats.astype(np.float16))
    writer.add_tensor("bf16", quantize(floats, Type.BF16), raw_dtype=Type.BF16)
    writer.add_tensor("odd", rng.standard_normal(7))  # f64; padded to 32 bytes
    for kind in HALVES:
        writer.add_tensor(kind.name.lower(), any_blocks(rng, kind, 5, 96), raw_dtype=kind)
        writer.add_tensor(kind.name.lower() + ".real", quantize(rng.standard_normal((2, 64)).astype(np.float32), kind),
                          raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    write_expected(folder / "small.gguf", folder / "expected.safetensors")


def write_expected(source, target):
    expected = {}
    for tensor in GGUFReader(source).tensors:
        shape = [int(n) for n in reversed(tensor.shape)]
        value = tensor.data if tensor.tensor_type == Type.F64 else dequantize(tensor.data, tensor.tensor_type)
        expected[tensor.name] = np.ascontiguousarray(value).reshape(shape)
    save_file(expected, target)


if len(sys.argv) == 4 and sys.argv[1] == "expected":
    write_expected(sys.argv[2], sys.argv[3])
elif len(sys.argv) == 2:
    main(sys.argv[1])
else:
    sys.exit(__doc__)
