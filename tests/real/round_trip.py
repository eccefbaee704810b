#!/usr/bin/env python3
"""Tests that transformers reads models that Gradus saved in the Hugging Face layout, and computes the same logits."""
import tempfile

from common import ROOT, check, logits, module, program

torch, transformers = module("torch"), module("transformers")
IDS = [1, 5, 9, 0, 17, 3, 22]
ENCODERS = [("bert", "masked_lm", "AutoModelForMaskedLM"), ("albert", "masked_lm", "AutoModelForMaskedLM"),
            ("bert_classifier", "text_classifier", "AutoModelForSequenceClassification"),
            ("vit", "vision_transformer", "AutoModelForImageClassification")]
HOW = {"gpt2": [], "llama": ["--positions", "rotary", "--norm", "rms", "--activation", "swiglu", "--kv-heads", "1"]}


def compare(name, directory, ours):
    model = transformers.AutoModelForCausalLM.from_pretrained(directory).eval()
    with torch.no_grad():
        wanted = model(torch.tensor([IDS])).logits[0]
    got = torch.tensor(ours)
    check(f"{name}: largest difference of logits, relative to the largest logit",
          ((got - wanted).abs().max() / wanted.abs().max()).item(), 1e-5)


with tempfile.TemporaryDirectory() as here:
    # Models of other projects, loaded and saved.
    for family in ("gpt2", "llama", "mistral", "qwen2", "qwen3"):
        golden, written = f"{ROOT}/tests/golden/families/{family}", f"{here}/{family}"
        program("export_model", "gpt", golden, written)
        compare(f"{family}, written again", written, logits(golden, IDS))
    for family, kind, loader in ENCODERS:
        golden, written = f"{ROOT}/tests/golden/families/{family}", f"{here}/{family}"
        program("export_model", kind, golden, written)
        before, after = (getattr(transformers, loader).from_pretrained(d).eval() for d in (golden, written))
        given = {"pixel_values": torch.randn(2, 3, 14, 14)} if family == "vit" else {"input_ids": torch.tensor([IDS])}
        with torch.no_grad():
            apart = (before(**given).logits - after(**given).logits).abs().max().item()
        check(f"{family}, exported again: largest difference of transformers' logits", apart, 0)
    text = f"{here}/text.txt"
    with open(text, "w", encoding="utf-8") as file:
        file.write("the quick brown fox jumps over the lazy dog.\n" * 60)
    for family, flags in HOW.items():  # models trained by this test
        run, written = f"{here}/run_{family}", f"{here}/written_{family}"
        program("gpt", "train", text, "--out", run, "--config", "toy", "--steps", "20", "--no-trial", *flags)
        program("gpt", "export", run, written)
        compare(f"{family}, trained by gpt", written, logits(run, IDS))
