#!/usr/bin/env python3
"""Golden data and thousands of cases for pretrained tokenizers, made with the package `tokenizers`.

  make_tokenizers.py golden DIR              five small tokenizers of the known families, with texts and ids
  make_tokenizers.py cases FILE N PATH       N random texts for the tokenizer.json or .gguf at PATH, to FILE; then
      GRADUS_TOKENIZER=PATH GRADUS_CASES=FILE gradus_tests_io "helper: check a tokenizer"
  make_tokenizers.py gpt2 DIR PATH           PATH as tokenizer.json, from encoder.json and vocab.bpe in DIR

tests/golden/tokenizers was made with tokenizers 0.23.3 by `make_tokenizers.py golden tests/golden/tokenizers`.
"""
import json
import random
import sys
import unicodedata
from pathlib import Path

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
HEAD = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
PATTERNS = {"qwen2": HEAD + r"\p{N}|" + TAIL, "llama3": HEAD + r"\p{N}{1,3}|" + TAIL}
ADVERSARIAL = [
    "", " ", "  ", "\n", "\r\n", "\r", "a", " a", "a ", "  a  ", "It's 12 o'clock,  now", "IT'S I'LL YOU'RE 'ſ 'Ve'",
    "we'll they've I'm don't he'd 'S'T'RE'VE'M'LL'D ''''s 'x '", "x\n\n\n  y\n \n z \r\n\t w",
    "\t\ttabs\x0b\x0c\x85\u2028\u3000.",
    "1 12 123 1234 12345 1234567 Ⅻ ½ ²³ ٣٤٥ १२", "f(x)+=1;// {}[]<>|^~`$\n",
    "naïve café Ångström Å Å e\u0301\u0323 \u1e9b\u0323",
    "日本語 中文字 한국어 각 ᄀ\u1161\u11a8 가\u11a8", "🙂 👩‍👩‍👧‍👦 🏳️‍🌈 \U0001f1e9\U0001f1ea", "عربي עברית ไทย हिन्दी",
    "İstanbul ǅ ß ẞ ﬁ ﬆ Σας ΑΣ",
    "a\u00adb\u200bc\u200dd\ufeffe\u0000f\ufffdg\ue000h", "<|im_start|>user\nhi<|im_end|>\n<|endoftext|> <|endoftext|",
    "[CLS] [MASK] [SEP] [UNK] ##a #a",
    "a" * 101 + " " + "b" * 100, "supercalifragilisticexpialidocious" * 8, " " * 40 + "x" + "\n" * 17 + " y",
    "\u0301\u0302 \u0323a", "x\u0338=\u0338",
    "¿Qué? ¡Sí! «a» „b“ — – … ‽ 「」", "don\u2019t \u2018s", "1\u0301 a1b2 3c", "\u1100\u1161 \uac00\u11a7 \uac01\u11a8",
    "__init__ snake_case $5 5% #1 a@b.c"]
POOL = ("abcdeflmnorstvxyzABST'  \n\r\t0123456789.,;:!?-_()[]{}<>|/\\\"#$%&*+=@^`~"
        "ſéÅßİ½Ⅻ٣日中가각각🙂👩\u200d\ufe0f\u0301\u0323\u0338"
        "\u00a0\u2028\u3000\x85\x0b\u200b\u00ad…—«»¿“”の한ไทहि्עرǅﬁΣς")
WORDS = ["the", " and", "ing", "'ll", "'S", " 12", "345", "\n\n", " <|im_end|>", "<|endoftext|>", "[MASK]", "##", "é",
" hello", "World",
         "  ", "\r\n", "don't", " I'm", "日本", "e\u0301"]
KNOWN = [chr(c) for c in range(0x20000) if not 0xD800 <= c < 0xE000 and unicodedata.category(chr(c)) != "Cn"]


def fuzzed(count, seed, pool=None):
    """Texts of characters that splitters distinguish, of words, and sometimes of arbitrary characters."""
    out, rng = [], random.Random(seed)
    for _ in range(count):
        kind = rng.random()
        parts = POOL if kind < 0.6 else WORDS if kind < 0.85 else pool or KNOWN
        out.append("".join(rng.choice(parts) for _ in range(rng.randrange(1, 40))))
    return out


def known_to_bert(tokenizer):
    """Characters whose class (mark, punctuation) in the reference's older tables is that of Unicode 14."""
    strip = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=True, lowercase=False)
    cut = pre_tokenizers.BertPreTokenizer()
    out = []
    for c in KNOWN:
        category = unicodedata.category(c)
        dropped = strip.normalize_str("a" + c) == "a"
        if (category in ("Mn", "Cf", "Cc", "Co")) != dropped and c not in "\t\n\r\ufffd":
            continue
        if (category[0] == "P") != (len(cut.pre_tokenize_str("a" + c + "b")) == 3) and ord(c) > 127:
            continue
        out.append(c)
    return out


def cases(tokenizer, texts):
    """Adds "whole" if the tokenizer's special tokens around a text make a difference."""
    made = []
    for text in texts:
        ids, whole = tokenizer.encode(text, add_special_tokens=False).ids, tokenizer.encode(text).ids
        made.append({"text": text, "ids": ids, **({"whole": whole} if whole != ids else {})})
    return made


def splitter(family):
    steps = []
    if family == "smollm":
        steps.append(pre_tokenizers.Digits(individual_digits=True))
    if family in PATTERNS:
        steps.append(pre_tokenizers.Split(Regex(PATTERNS[family]), "isolated"))
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=family not in PATTERNS))
    return steps[0] if len(steps) == 1 else pre_tokenizers.Sequence(steps)


def byte_level(family, model):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = splitter(family)
    tokenizer.decoder = decoders.ByteLevel()
    if family == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    return tokenizer


def learnt(family, texts):
    """A small trained tokenizer of a family."""
    special = [AddedToken(t, special=True, normalized=False) for t in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")]
    if family == "bert":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(
            vocab_size=400, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
        return tokenizer
    tokenizer = byte_level(family, models.BPE(ignore_merges=family == "llama3"))
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, show_progress=False,
        initial_alphabet=[] if family == "smollm" else pre_tokenizers.ByteLevel.alphabet()))
    if family == "llama3":
        tokenizer.post_processor = processors.Sequence([
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", 0)])])
    return tokenizer


def of_gguf(path):
    """The tokenizer of a GGUF file with SmolLM's splitter, built with the `tokenizers` package."""
    from gguf import GGUFReader
    fields = GGUFReader(path).fields

    def texts(key):
        return fields[key].contents()
    assert texts("tokenizer.ggml.pre") == "smollm"
    tokens, types = texts("tokenizer.ggml.tokens"), texts("tokenizer.ggml.token_type")
    merges = [tuple(m.split(" ")) for m in texts("tokenizer.ggml.merges")]
    model = models.BPE({t: i for i, t in enumerate(tokens)}, merges)
    tokenizer = byte_level("smollm", model)
    tokenizer.add_special_tokens(
        [AddedToken(t, special=True, normalized=False) for t, k in zip(tokens, types) if k == 3])
    return tokenizer


def main(mode, *arguments):
    if mode == "golden":
        folder = Path(arguments[0])
        own = Path(__file__).resolve().parents[2]
        corpus = [(own / name).read_text() for name in ("README.md", "CONTRIBUTING.md")] + ADVERSARIAL
        folder.mkdir(parents=True, exist_ok=True)
        for number, family in enumerate(["gpt2", "smollm", "qwen2", "llama3", "bert"]):
            tokenizer = learnt(family, corpus)
            pool = known_to_bert(tokenizer) if family == "bert" else None
            texts = ADVERSARIAL + fuzzed(15, number, pool)
            (folder / f"{family}.json").write_text(tokenizer.to_str())
            lines = ",\n".join(json.dumps(c, separators=(",",
            ":"), ensure_ascii=False) for c in cases(tokenizer, texts))
            (folder / f"{family}.cases").write_text('{"cases":[\n' + lines + "\n]}\n")
    elif mode == "cases":
        target, count, path = Path(arguments[0]), int(arguments[1]), arguments[2]
        tokenizer = of_gguf(path) if path.endswith(".gguf") else Tokenizer.from_file(path)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        nfc = tokenizer.normalizer is not None and isinstance(tokenizer.normalizer, normalizers.NFC)
        bert = isinstance(tokenizer.pre_tokenizer, pre_tokenizers.BertPreTokenizer)
        pool = known_to_bert(tokenizer) if bert else None
        # The package has an older version of Unicode.
        texts = [t for t in ADVERSARIAL + fuzzed(count, 7, pool)
                 if not nfc or tokenizer.normalizer.normalize_str(t) == unicodedata.normalize("NFC", t)]
        target.write_text(json.dumps({"cases": cases(tokenizer, texts)}))
    elif mode == "gpt2":
        folder, target = Path(arguments[0]), arguments[1]
        lines = (folder / "vocab.bpe").read_text().split("\n")[1:]
        merges = [tuple(m.split()) for m in lines if m.strip()]
        model = models.BPE(json.loads((folder / "encoder.json").read_text()), merges)
        tokenizer = byte_level(arguments[2] if len(arguments) > 2 else "gpt2", model)
        tokenizer.add_special_tokens([AddedToken("<|endoftext|>", special=True, normalized=False)])
        tokenizer.save(target)
    else:
        sys.exit(__doc__)


main(*(sys.argv[1:] or [""]))
