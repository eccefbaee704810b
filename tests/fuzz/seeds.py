#!/usr/bin/env python3
"""Writes the seeds: a few small files of each format, valid and invalid, in every form that its reader supports.

    tests/fuzz/seeds.py            writes to tests/fuzz/corpus/TARGET/; keeps other files, such as a fuzzer's finds

Uses only the standard library, because seeds must not come from the code under test."""
import json
import struct
import sys
import zlib
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"
NUMBERS = {"F32": ("f", 4), "F64": ("d", 8), "I64": ("q", 8), "BOOL": ("?", 1), "F16": ("e", 2), "I32": ("i", 4),
           "U8": ("B", 1)}


def safetensors(tensors, metadata=None, pad=0):
    """tensors: name -> (dtype, shape, numbers)"""
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (dtype, shape, numbers) in tensors.items():
        begin = len(data)
        if dtype == "BF16":
            data += b"".join(struct.pack("<f", x)[2:] for x in numbers)
        else:
            data += struct.pack(f"<{len(numbers)}{NUMBERS[dtype][0]}", *numbers)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(data)]}
    return framed(json.dumps(header, separators=(",", ":")).encode() + b" " * pad) + data


def framed(header):
    return struct.pack("<Q", len(header)) + header


def checkpoint(tensors, facts):
    """A file with the checksum that io/checkpoint.cpp describes."""
    names = {"F32": "f32", "F64": "f64", "I64": "i64", "BOOL": "bool"}
    crc = 0

    def add(part):
        nonlocal crc
        crc = zlib.crc32(part, crc)

    def add_text(text):
        add(struct.pack("<Q", len(text)) + text.encode())

    for key, value in sorted(facts.items()):
        add_text(key)
        add_text(value)
    for name, (dtype, shape, numbers) in sorted(tensors.items()):
        add_text(name)
        add_text(f"{names[dtype]} [{', '.join(map(str, shape))}]")
        add(struct.pack(f"<{len(numbers)}{NUMBERS[dtype][0]}", *numbers))
    return safetensors(tensors, {**facts, "format": "pt", "gradus.checkpoint": "1", "gradus.crc32": f"{crc:08x}"})


def npy(descr, shape, data, version=1, fortran=False):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    start = 10 if version == 1 else 12
    header += b" " * (63 - (start + len(header)) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header + data


def chunk(name, content):
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def wav(*chunks):
    return b"RIFF" + struct.pack("<I", 4 + sum(map(len, chunks))) + b"WAVE" + b"".join(chunks)


def visible_bytes():
    """GPT-2's visible characters for the 256 bytes."""
    itself = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x144))
    return [chr(b if b in itself else next(others)) for b in range(256)]


def tokenizer(**fields):
    return json.dumps({"gradus_tokenizer": 1, **fields}, ensure_ascii=False).encode()


def settings(**changed):
    fields = dict(files=["a.txt"], validation="", text_digest="0123", tokenizer="char", tokenizer_vocab=0,
                  config="tiny", vocab=65, context=32, layers=2, heads=2, width=16, dropout=0.0, positions="learned",
                  kv_heads=0, window=0, norm="layer", activation="gelu", checkpoint=False, batch=4, steps=10, warmup=1,
                  eval_every=5, learning_rate=1e-3, final_factor=0.1, beta2=0.99, weight_decay=0.1, clip_norm=1.0,
                  seed=1337)
    return json.dumps({**fields, **changed}).encode()


def safetensors_seeds():
    numbers = {name: (name, [2], [1, 0]) for name in [*NUMBERS, "BF16"]}
    one = {"a": ("F32", [1, 2], [1.5, -2.0])}
    return {"every_dtype": safetensors(numbers), "metadata": safetensors(one, {"format": "pt", "k": "v"}, pad=3),
            "empty_axis": safetensors({"e": ("I64", [0, 3], []), "s": ("F64", [], [3.0])}), "none": safetensors({}),
            "cut_off": safetensors(one)[:-1], "too_long": safetensors(one) + b"\0",
            "wide": safetensors({"\u00e9": ("U8", [1] * 8, [7])}), "too_wide": safetensors({"a": ("U8", [1] * 9, [7])}),
            "large": framed(b'{"a":{"dtype":"F32","shape":[1000000000],"data_offsets":[0,4000000000]}}')}


def checkpoint_seeds():
    tensors = {"model.w": ("F32", [2, 2], [1.0, 2.0, 3.0, 4.0]), "step": ("I64", [1], [7])}
    facts = {"step": "7", "settings": "{\"a\": 1}"}
    right = checkpoint(tensors, facts)
    return {"right": right, "no_tensors": checkpoint({}, facts), "damaged": right[:-1] + b"\1",
            "no_checkpoint": safetensors(tensors, {"format": "pt"}),
            "no_checksum": safetensors(tensors, {"format": "pt", "gradus.checkpoint": "1"})}


def npy_seeds():
    return {"f4": npy("<f4", "(2, 3)", struct.pack("<6f", *range(6))), "scalar": npy("<f8", "()", struct.pack("<d", 1)),
            "fortran": npy("<i4", "(2, 2)", struct.pack("<4i", *range(4)), fortran=True),
            "v2": npy("|b1", "(3,)", b"\0\1\2", version=2), "v3": npy("<f2", "(2,)", b"\0\x3c\0\x7c", version=3),
            "u1": npy("|u1", "(0, 4)", b""), "i8": npy("<i8", "(1,)", struct.pack("<q", -1)),
            "big_endian": npy(">f4", "(1,)", b"\0" * 4), "huge": npy("<f4", "(4611686018427387904, 4)", b""),
            "large": npy("<f4", "(1000000000,)", b""), "axes": npy("|u1", "(1, 1, 1, 1, 1, 1, 1, 1, 1)", b"\1")}


def csv_seeds():
    return {"names": b"x,y\n1,2\n-3.5,4e-3\n", "numbers": b"1,2,3\r\n4,5,6\r\n\r\n",
            "quotes": b'"a ""b""", c\n"1" ,2\n',
            "mark": b"\xef\xbb\xbfx\n+1\n", "odd": b"nan,inf\n-inf,1e400\n", "ragged": b"1,2\n3\n", "open": b'"1,2\n3',
            "blank": b" \t\r\n"}


def tokenizer_seeds():
    bytes_ = visible_bytes()
    return {"byte": tokenizer(type="byte"), "character": tokenizer(type="character", characters="\n aé→𝄞"),
            "word": tokenizer(type="word", words="<unknown> the Ġcat Ċ"),
            "bpe": tokenizer(type="bpe", tokens=" ".join([*bytes_, "th", "the"]), merges="t h\nth e"),
            "bpe_few": tokenizer(type="bpe", tokens="a b ab", merges="a b"), "last": tokenizer(
                type="character", characters="\U0010ffff"), "falling": tokenizer(type="character", characters="ba"),
            "nested": tokenizer(type={"a": [1]}), "newer": b'{"gradus_tokenizer": 2}', "list": b"[1, 2]",
            **pretrained_seeds()}


def pretrained(model="BPE", vocab=None, **parts):
    if vocab is None:
        vocab = {token: i for i, token in enumerate([*visible_bytes(), "th", "the"])}
    fields = {"added_tokens": [{"id": len(vocab), "content": "<end>", "special": True}],
              "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}, "post_processor": None,
              "decoder": {"type": "ByteLevel"},
              "model": {"type": model, "vocab": vocab, "merges": ["t h", ["th", "e"]]}}
    return json.dumps({**fields, **parts}, ensure_ascii=False).encode()


def pretrained_seeds():
    """tokenizer.json files, which the target `tokenizer` also reads."""
    few = {"a": 0, "b": 1, "##b": 2, "[UNK]": 3}
    piece = {"type": "WordPiece", "vocab": few, "unk_token": "[UNK]", "continuing_subword_prefix": "##",
             "max_input_chars_per_word": 100}
    around = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<end>"}}, {"Sequence": {"id": "A"}}],
              "special_tokens": {"<end>": {"id": "<end>", "ids": [0]}}}
    digits = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True},
                                                    {"type": "ByteLevel", "use_regex": True}]}
    small = dict(vocab={"t": 0, "h": 1, "e": 2, "th": 3, "the": 4})
    return {"pretrained": pretrained(), "pretrained_few": pretrained(**small),
            "pretrained_nfc": pretrained(normalizer={"type": "NFC"}, pre_tokenizer=digits, **small),
            "pretrained_around": pretrained(post_processor=around, **small),
            "pretrained_other": pretrained(model="Unigram", **small),
            "pretrained_bert": pretrained(vocab=few, model=piece, decoder={"type": "WordPiece"},
                                          pre_tokenizer={"type": "BertPreTokenizer"},
                                          normalizer={"type": "BertNormalizer", "clean_text": True, "lowercase": True,
                                                      "handle_chinese_chars": True, "strip_accents": None})}


def gguf(facts, tensors, version=3, alignment=32):
    """facts: key -> (type, bytes); tensors: name -> (sizes, type, bytes)"""
    def text(each):
        return struct.pack("<Q", len(each.encode())) + each.encode()
    out, data = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(facts)), b""
    for key, (kind, value) in facts.items():
        out += text(key) + struct.pack("<I", kind) + value
    for name, (sizes, kind, numbers) in tensors.items():
        out += text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, len(data))
        data += numbers + b"\0" * (-len(numbers) % alignment)
    return out + b"\0" * (-len(out) % alignment) + data


def gguf_seeds():
    def text(each):
        return struct.pack("<Q", len(each.encode())) + each.encode()

    def texts(*all_):
        return 9, struct.pack("<IQ", 8, len(all_)) + b"".join(map(text, all_))
    kinds = {"f32": ([3], 0, b"\0" * 12), "f16": ([2, 3], 1, b"\0\x3c" * 6), "bf16": ([1], 30, b"\x80\x3f"),
             "q4_0": ([32], 2, bytes(18)), "q4_1": ([32, 2], 3, bytes(40)), "q8_0": ([64], 8, bytes(68)),
             "i32": ([], 26, bytes(4)), "i64": ([1, 1, 1, 1], 27, bytes(8)), "f64": ([0], 28, b"")}
    facts = {"a": (0, b"\1"), "b": (5, b"\xff" * 4), "c": (6, struct.pack("<f", 1.5)), "d": (7, b"\1"),
             "e": (8, text("llama")), "f": (9, struct.pack("<IQ3h", 3, 3, 1, 2, 3)), "g": (12, bytes(8)),
             "h": (9, struct.pack("<IQ2f", 6, 2, 1, 2)), "general.alignment": (4, struct.pack("<I", 64))}
    ids = (9, struct.pack("<IQ6i", 5, 6, 1, 1, 1, 1, 1, 3))
    tokens = {f"tokenizer.ggml.{key}": value for key, value in dict(
        model=(8, text("gpt2")), pre=(8, text("smollm")), tokens=texts("t", "h", "e", "th", "the", "<end>"),
        token_type=ids, merges=texts("t h", "th e"), add_bos_token=(7, b"\1"),
        bos_token_id=(4, struct.pack("<I", 5))).items()}
    right = gguf({}, kinds)
    return {"kinds": right, "facts": gguf(facts, kinds, alignment=64), "tokens": gguf(tokens, {}),
            "none": gguf({}, {}), "version": gguf({}, {}, 2), "cut_off": right[:-40], "too_long": right + bytes(40),
            "huge": gguf({}, {"a": ([2**62], 0, b"")}), "other_type": gguf({}, {"a": ([256], 12, bytes(144))}),
            "list_of_lists": gguf({"a": (9, struct.pack("<IQ", 9, 1) + bytes(12))}, {}),
            "long_list": gguf({"a": (9, struct.pack("<IQ", 0, 2**60))}, {}),
            "safetensors": safetensors({"a": ("F32", [1, 2], [1.5, -2.0])})}


def json_seeds():
    return {"index": b'{"metadata": {"total_size": 8}, "weight_map": {"a.weight": "model-00001-of-00002.safetensors"}}',
            "config": b'{"model_type": "llama", "rope_theta": 1e5, "tie_word_embeddings": true, "rope_scaling": null}',
            "lists": b'{"a": [1, [2.5, "\\u00e9"], {}], "b": {"c": -1}}',
            "large": b'{"a": 18446744073709551615, "b": 1e400}',
            "twice": b'{"a": {"b": 1, "b": 2}}', "deep": b'{"a":' * 70 + b"1" + b"}" * 70, "list": b"[1]",
            "broken": b'{"a": "\xff"}', "nul": b'{"a": 1}\0'}


def hugging_face_seeds():
    tokens = [*visible_bytes(), "th", "the"]
    vocab = json.dumps({token: i for i, token in enumerate(tokens)}, ensure_ascii=False).encode()
    few = b'{"a": 0, "b": 1, "ab": 2}'
    return {"right": vocab + b"\0#version: 0.2\nt h\r\nth e\n", "few": few + b"\0a b\n", "real": b'{"a": 1e300}\0',
            "twice": b'{"a": 0, "b": 0}\0', "list": b"[0, 1]\0", "no_merges": few,
            "merge_of_one": vocab + b"\0t\n"}


def text_seeds():
    return {"ascii": b"It's 12 o'clock,  now\n\tthe cat\r\n", "wide": "é→𝄞 \ufffd café".encode(), "empty": b"",
            "broken": b"\xc3 \xe2\x82 \xf0\x9d\x84 \xed\xa0\x80 \xc0\xaf \xf5 \x80", "nul": b"a\0b",
            "letters": b"a" * 300,
            "overlong": b"\xe0\x9f\xbf", "surrogate": b"\xed\xa0\x80", "beyond": b"\xf4\x90\x80\x80",
            "overlong_4": b"\xf0\x8f\xbf\xbf"}


def wav_seeds():
    form = chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16))
    data = chunk(b"data", struct.pack("<4h", 0, 1, -32768, 32767))
    stereo = chunk(b"fmt ", struct.pack("<HHIIHH", 1, 2, 8000, 32000, 4, 16))
    return {"right": wav(form, data), "more": wav(form, chunk(b"LIST", b"odd"), data), "stereo": wav(stereo, data),
            "no_sound": wav(form), "data_first": wav(data, form), "twice": wav(form, data, data),
            "cut_off": wav(form, data)[:-2]}


def settings_seeds():
    limit = dict(seconds=60.0, evaluation_steps=2.0, most_steps=100)
    return {"right": settings(), "time": settings(time=limit), "others": settings(
        positions="rotary", kv_heads=1, window=8, norm="rms", activation="swiglu", checkpoint=True),
            "real": settings(layers=1e300), "words": settings(width="wide"), "missing": b'{"files": []}',
            "nested": b"[" * 500, "unknown": settings(norm="none\nat all")}


def main():
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    for target in ["safetensors", "checkpoint", "npy", "csv", "tokenizer", "hugging_face", "gguf", "json", "text",
                   "wav", "settings"]:
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in globals()[f"{target}_seeds"]().items():
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
