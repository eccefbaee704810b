#!/usr/bin/env python3
"""Golden data: small random models of each family, their outputs, and the gradients of a loss.

  make_families.py DIR      writes DIR/NAME/{config.json,model.safetensors,golden.safetensors}

Weights are float32, as `transformers` writes them; outputs and gradients are computed in float64 and
stored in float32. golden.safetensors holds the inputs, "output", "loss", and each gradient as "grad.NAME".
tests/golden/families was made with transformers 5.23.0 and PyTorch 2.13.0.
"""
import json
import os
import sys

import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import load_file, save_file

LLAMA = dict(vocab_size=37, hidden_size=21, intermediate_size=17, num_hidden_layers=2, num_attention_heads=3,
             num_key_value_heads=1, head_dim=10, max_position_embeddings=29, rms_norm_eps=1e-4,
             rope_parameters={"rope_type": "default", "rope_theta": 5003.0}, bos_token_id=None, eos_token_id=None)
# Qwen2's head width is hidden_size / heads
QWEN2 = {key: value for key, value in LLAMA.items() if key != "head_dim"} | dict(hidden_size=30)
BERT = dict(vocab_size=37, hidden_size=21, intermediate_size=17, num_hidden_layers=2, num_attention_heads=3,
            max_position_embeddings=29, type_vocab_size=3, attention_probs_dropout_prob=0.0,
            hidden_dropout_prob=0.0)


def gpts():
    t = transformers
    return {
        "gpt2": t.GPT2LMHeadModel(t.GPT2Config(
            vocab_size=37, n_positions=29, n_embd=21, n_layer=2, n_head=3, n_inner=17, resid_pdrop=0.0,
            embd_pdrop=0.0, attn_pdrop=0.0, layer_norm_epsilon=1e-4, bos_token_id=None, eos_token_id=None)),
        "llama": t.LlamaForCausalLM(t.LlamaConfig(**LLAMA, attention_bias=True, mlp_bias=True)),
        "mistral": t.MistralForCausalLM(t.MistralConfig(**LLAMA, sliding_window=5)),
        "qwen2": t.Qwen2ForCausalLM(t.Qwen2Config(**QWEN2)),
        "qwen3": t.Qwen3ForCausalLM(t.Qwen3Config(**LLAMA, tie_word_embeddings=True)),
    }


def randomise(model):
    """Makes weights large enough that each matters, including norms and biases."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            norm = p.dim() == 1 and name.endswith("weight")
            p.copy_(torch.randn_like(p) * (0.2 if p.dim() > 1 else 0.3) + (1.0 if norm else 0.0))


def keep(directory, model, inputs, output, loss, state_file):
    """Saves gradients under the names of the weights file."""
    loss.backward()
    weights = load_file(state_file)
    grads = {name: p.grad for name, p in model.named_parameters()}
    renamed = {name: grads[name] for name in weights if name in grads}
    # Transformers renames weights when it saves them, so the gradients are saved with it, too.
    if len(renamed) < len(weights):
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(p.grad)
        model.float().save_pretrained("/tmp/families_gradients")
        renamed = load_file("/tmp/families_gradients/model.safetensors")
    golden = {**inputs, "output": output.detach().float().contiguous(), "loss": loss.detach().double().reshape(1)}
    golden.update({f"grad.{name}": grad.float().contiguous() for name, grad in renamed.items()})
    save_file(golden, f"{directory}/golden.safetensors")


def write_transformers(directory, model, inputs, call):
    randomise(model)
    model.eval()
    model.save_pretrained(directory)
    if os.path.exists(f"{directory}/generation_config.json"):
        os.remove(f"{directory}/generation_config.json")
    model.double()
    output, targets = call(model)
    loss = F.cross_entropy(output.flatten(0, -2), targets.flatten())
    keep(directory, model, inputs, output, loss, f"{directory}/model.safetensors")


def write_torch(directory, model, inputs, call):
    """PyTorch's own modules. The loss is the product of the output with saved values."""
    os.makedirs(directory, exist_ok=True)
    randomise(model)
    model.eval()
    save_file(model.state_dict(), f"{directory}/model.safetensors")
    model.double()
    output = call(model)
    factor = torch.randn(output.shape)
    loss = (output * factor.double()).sum()
    keep(directory, model, {**inputs, "factor": factor}, output, loss, f"{directory}/model.safetensors")


def main():
    root = sys.argv[1]
    torch.manual_seed(5)
    torch.backends.mha.set_fastpath_enabled(False)
    ids, targets = torch.randint(37, (2, 2, 11))
    ids[0, 0], ids[1, 3] = 0, 36
    given = {"ids": ids, "targets": targets}
    for name, model in gpts().items():
        write_transformers(f"{root}/{name}", model, given, lambda m: (m(ids).logits, targets))

    lengths = torch.tensor([11, 7])
    mask = (torch.arange(11)[None] < lengths[:, None]).long()
    segments = torch.randint(3, (2, 11))
    t = transformers
    encoders = {"bert": t.BertForMaskedLM(t.BertConfig(**BERT)),
                "albert": t.AlbertForMaskedLM(t.AlbertConfig(**{**BERT, "num_hidden_layers": 3, "embedding_size": 13}))}
    for name, model in encoders.items():
        write_transformers(f"{root}/{name}", model, given | {"lengths": lengths},
                           lambda m: (m(ids, attention_mask=mask).logits, targets))
    write_transformers(f"{root}/bert_classifier",
                       t.BertForSequenceClassification(t.BertConfig(**BERT, num_labels=5)),
                       {"ids": ids, "targets": torch.tensor([3, 1]), "lengths": lengths},
                       lambda m: (m(ids, attention_mask=mask).logits, torch.tensor([3, 1])))
    images = torch.randn(2, 3, 14, 14)
    write_transformers(f"{root}/vit", t.ViTForImageClassification(t.ViTConfig(
        hidden_size=21, intermediate_size=17, num_hidden_layers=2, num_attention_heads=3, image_size=14,
        patch_size=7, num_channels=3, num_labels=5)), {"images": images, "targets": torch.tensor([4, 0])},
        lambda m: (m(images.double()).logits, torch.tensor([4, 0])))

    source, target = torch.randn(2, 7, 21), torch.randn(2, 5, 21)
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(21, 3, 17, 0.0, activation="gelu", batch_first=True, norm_first=True)
    write_torch(f"{root}/torch_encoder", nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(21)),
                {"source": source}, lambda m: m(source.double()))
    causal = nn.Transformer.generate_square_subsequent_mask(5).double()
    write_torch(f"{root}/torch_transformer", nn.Transformer(21, 3, 1, 2, 17, 0.0, batch_first=True),
                {"source": source, "target": target},
                lambda m: m(source.double(), target.double(), tgt_mask=causal))
    write_torch(f"{root}/torch_attention", nn.MultiheadAttention(21, 3, batch_first=True), {"source": source},
                lambda m: m(source.double(), source.double(), source.double())[0])
    keys, values = torch.randn(2, 7, 13), torch.randn(2, 7, 11)
    write_torch(f"{root}/torch_cross_attention", nn.MultiheadAttention(21, 3, kdim=13, vdim=11, batch_first=True),
                {"target": target, "keys": keys, "values": values},
                lambda m: m(target.double(), keys.double(), values.double())[0])


if __name__ == "__main__":
    main()
