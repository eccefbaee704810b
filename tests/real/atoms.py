#!/usr/bin/env python3
"""Compares RXNMapper (wheel rxnmapper) with the three results that its tests publish. Needs no other package.

Reactions are canonical SMILES, as the package writes them, because Gradus cannot convert SMILES.
The published maps give the reactants' atom for each atom of the product, counted from 0."""
import glob
import os
import re
import subprocess
import sys
import tempfile

from common import ROOT, check, program, wheel

PUBLISHED = [
    ("CC(C)S.CN(C)C=O.Fc1cccnc1F.O=C([O-])[O-].[K+].[K+]>>CC(C)Sc1ncccc1F", 0.9565619900376546,
     [0, 1, 2, 3, 15, 14, 13, 12, 11, 10, 9]),
    ("C1COCCO1.CC(C)(C)OC(=O)CONC(=O)NCc1cccc2ccccc12.Cl>>O=C(O)CONC(=O)NCc1cccc2ccccc12", 0.9704424331552834,
     [12, 11, 10, *range(13, 30)]),
    ("C=CCN=C=S.CNCc1ccc(C#N)cc1.NNC(=O)c1cn2c(n1)CCCC2>>C=CCn1c(-c2cn3c(n2)CCCC3)nnc1N(C)Cc1ccc(C#N)cc1",
     0.919023506871605,
     [0, 1, 2, 3, 19, 21, 22, 23, 24, 25, 26, 27, 28, 29, 18, 17, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16]),
]
ATOM = re.compile(r"\[[^]]+]|Br|Cl|[BCNOSPFI]|[bcnosp]")


def map_in(text):
    """The index of the reactants' atom with the same label, for each product atom."""
    reactants, products = text.split(">>")
    labels = [[re.search(r":(\d+)]", atom) for atom in ATOM.findall(side)] for side in (reactants, products)]
    place = {found.group(1): i for i, found in enumerate(labels[0]) if found}
    return [place.get(found.group(1), -1) for found in labels[1]]


source = glob.glob(f"{wheel('rxnmapper')}/rxnmapper/models/transformers/*/")[0]
with tempfile.TemporaryDirectory() as model:
    for name in ("config.json", "vocab.txt"):
        os.symlink(os.path.abspath(source + name), f"{model}/{name}")
    subprocess.run([sys.executable, f"{ROOT}/tools/pt2safetensors.py", f"{source}pytorch_model.bin",
                    f"{model}/model.safetensors"], check=True, stdout=subprocess.DEVNULL)
    page = f"{model}/step.html"
    program("atoms", model, PUBLISHED[0][0], trace=page)
    check("bytes of the trace page", os.path.getsize(page), 8e6)
    lines = program("atoms", model, *(reaction for reaction, _, _ in PUBLISHED)).splitlines()
worst, differing = 0.0, 0
for i, (reaction, confidence, atoms) in enumerate(PUBLISHED):
    got = map_in(lines[2 * i])
    differing += got != atoms
    worst = max(worst, abs(float(lines[2 * i + 1].split()[1]) - confidence))
    print(lines[2 * i], lines[2 * i + 1], sep="\n")
check("maps that differ from the published maps", differing, 0)
check("largest difference from the published confidence", worst, 1e-5)
