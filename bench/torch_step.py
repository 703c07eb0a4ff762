#!/usr/bin/env python3
"""Times training steps of PyTorch (eager) for two of qkv's presets.

  python3 bench/torch_step.py makemore|nanogpt-cpu [--steps N] [--threads N]

Prints the median milliseconds of a step: random batch, forward, loss, backward,
clipping where the preset clips, AdamW. The model is the same architecture with
PyTorch's own modules and scaled_dot_product_attention.
"""
import argparse
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

SETTINGS = {
    # vocab, context, layers, heads, width, batch, biases, gelu, tied, clip
    "makemore": (27, 16, 4, 4, 64, 32, True, "tanh", False, 0.0),
    "nanogpt-cpu": (65, 64, 4, 4, 128, 12, False, "none", True, 1.0),
}


class Block(nn.Module):
    def __init__(self, width, heads, bias, gelu):
        super().__init__()
        self.heads, self.gelu = heads, gelu
        self.ln_1 = nn.LayerNorm(width, bias=bias)
        self.c_attn = nn.Linear(width, 3 * width, bias=bias)
        self.c_proj = nn.Linear(width, width, bias=bias)
        self.ln_2 = nn.LayerNorm(width, bias=bias)
        self.c_fc = nn.Linear(width, 4 * width, bias=bias)
        self.mlp_proj = nn.Linear(4 * width, width, bias=bias)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (
            part.view(b, t, self.heads, d // self.heads).transpose(1, 2)
            for part in self.c_attn(self.ln_1(x)).split(d, dim=2)
        )
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(z.transpose(1, 2).reshape(b, t, d))
        h = F.gelu(self.c_fc(self.ln_2(x)), approximate=self.gelu)
        return x + self.mlp_proj(h)


class Gpt(nn.Module):
    def __init__(self, vocab, context, layers, heads, width, bias, gelu, tied):
        super().__init__()
        self.wte = nn.Embedding(vocab, width)
        self.wpe = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(
            [Block(width, heads, bias, gelu) for _ in range(layers)]
        )
        self.ln_f = nn.LayerNorm(width, bias=bias)
        self.head = nn.Linear(width, vocab, bias=False)
        if tied:
            self.head.weight = self.wte.weight

    def forward(self, ids, targets):
        x = self.wte(ids) + self.wpe.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("setting", choices=SETTINGS)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    vocab, t, layers, heads, width, batch, bias, gelu, tied, clip = SETTINGS[
        args.setting
    ]
    model = Gpt(vocab, t, layers, heads, width, bias, gelu, tied)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1
    )
    times = []
    for _ in range(args.steps + 10):
        ids = torch.randint(vocab, (batch, t + 1))
        begin = time.perf_counter()
        loss = model(ids[:, :-1], ids[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        times.append((time.perf_counter() - begin) * 1e3)
    print(f"{statistics.median(times[10:]):.3f}")


main()
