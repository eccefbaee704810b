#!/usr/bin/env python3
"""Golden data: attention weights of RXNMapper's layer 10, head 5, for reactions, computed with transformers.

  make_atoms.py MODEL_DIR OUT.safetensors     MODEL_DIR: config.json, pytorch_model.bin, vocab.txt of the wheel rxnmapper

tests/golden/atoms.safetensors was made with transformers 5.23.0 and rxnmapper 0.4.3.
"""
import re
import sys

import torch
import transformers
from safetensors.torch import save_file

REACTIONS = [
    "CC(C)S.CN(C)C=O.Fc1cccnc1F.O=C([O-])[O-].[K+].[K+]>>CC(C)Sc1ncccc1F",
    "C1COCCO1.CC(C)(C)OC(=O)CONC(=O)NCc1cccc2ccccc12.Cl>>O=C(O)CONC(=O)NCc1cccc2ccccc12",
    "C=CCN=C=S.CNCc1ccc(C#N)cc1.NNC(=O)c1cn2c(n1)CCCC2>>C=CCn1c(-c2cn3c(n2)CCCC3)nnc1N(C)Cc1ccc(C#N)cc1",
]
TOKEN = re.compile(r"\[[^]]+]|Br|Cl|>>|%\d\d|.")


def main():
    directory, out = sys.argv[1:]
    with open(f"{directory}/vocab.txt", encoding="utf-8") as file:
        id_of = {line.rstrip("\n"): i for i, line in enumerate(file)}
    model = transformers.AlbertModel.from_pretrained(directory, attn_implementation="eager").eval()
    maps = {}
    for i, reaction in enumerate(REACTIONS):
        tokens = ["[CLS]", *TOKEN.findall(reaction), "[SEP]"]
        with torch.no_grad():
            found = model(torch.tensor([[id_of[t] for t in tokens]]), output_attentions=True).attentions[10]
        maps[f"reaction{i}"] = found[0, 5].contiguous()
    save_file(maps, out)


if __name__ == "__main__":
    main()
