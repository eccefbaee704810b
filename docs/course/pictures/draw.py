#!/usr/bin/env python3
"""Draws the pictures of the course: one SVG per lesson, next to this file.

  draw.py            write all
  draw.py --check    exit with code 1 if a file is missing, outdated or larger than 20 KB

Values are computed here as the lessons compute them.
"""
import pathlib
import sys

from first_half import engine, linear, nano, neuron, optimizers, softmax_lesson, spiral, tensors, tokens
from second_half import attention, block, find_the_bug, heads, llama, masks, pooling, tiny_gpt, transformer

FOLDER = pathlib.Path(__file__).resolve().parent
MOST_BYTES = 20000
PICTURES = {
    "00_nano": nano,
    "01_neuron": neuron,
    "02_engine": engine,
    "03_tensors": tensors,
    "04_linear": linear,
    "05_spiral": spiral,
    "06_softmax": softmax_lesson,
    "07_optimizers": optimizers,
    "08_tokens": tokens,
    "09_pooling": pooling,
    "10_attention": attention,
    "11_heads": heads,
    "12_masks": masks,
    "13_block": block,
    "14_tiny_gpt": tiny_gpt,
    "15_transformer": transformer,
    "16_real_model": llama,
    "17_find_the_bug": find_the_bug,
}


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__)
        return 2
    wrong = 0
    for name, draw in PICTURES.items():
        path, svg = FOLDER / f"{name}.svg", draw().svg()
        if len(svg.encode()) > MOST_BYTES:
            print(f"{path.name} has {len(svg.encode())} bytes; at most {MOST_BYTES}")
            wrong = 1
        if not arguments:
            path.write_text(svg, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != svg:
            print(f"{path.name} is outdated. Run docs/course/pictures/draw.py.")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
