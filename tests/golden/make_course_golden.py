#!/usr/bin/env python3
"""Writes course_*.safetensors: the models of the course by PyTorch in f64.

Each file holds the weights under the model's names ("weight.NAME"), ids and
targets, and what PyTorch makes of them in training: logits, the mean loss and
every gradient ("grad.NAME"); where there is BatchNorm also the running averages
afterwards ("after.NAME") and the logits of evaluation with them ("evaluated").
The models are written out in plain torch operations, position by position.
Needs torch and safetensors from PyPI.

  python3 tests/golden/make_course_golden.py
"""
import os

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

torch.set_default_dtype(torch.float64)
HERE = os.path.dirname(os.path.abspath(__file__))
V, T, E, H, B = 7, 6, 3, 5, 4
MOMENTUM = 0.1


def window(ids, t, n, blank):
    """The ids at t-n+1 … t of every sequence."""
    return torch.stack(
        [ids[:, s] if s >= 0 else torch.full_like(ids[:, 0], blank) for s in range(t - n + 1, t + 1)], 1)


class Norm:
    """BatchNorm over all but the last axis; keeps running averages."""

    def __init__(self, w, prefix, training, eps=1e-5, by_deviation=False, momentum=MOMENTUM):
        self.w, self.p, self.training = w, prefix, training
        self.eps, self.by_deviation, self.momentum = eps, by_deviation, momentum

    def __call__(self, x):
        w, p = self.w, self.p
        rows = x.reshape(-1, x.shape[-1])
        mean, var = w[p + "running_mean"], w[p + "running_var"]
        if self.by_deviation:
            var = var ** 2
        if self.training:
            mean = rows.mean(0)
            unbiased = rows.var(0, unbiased=True)
            var = unbiased if self.by_deviation else rows.var(0, unbiased=False)
            with torch.no_grad():
                m = self.momentum
                kept = unbiased.sqrt() if self.by_deviation else unbiased
                w[p + "running_mean"] = (1 - m) * w[p + "running_mean"] + m * mean
                w[p + "running_var"] = (1 - m) * w[p + "running_var"] + m * kept
                w[p + "num_batches_tracked"] = w[p + "num_batches_tracked"] + 1
        return (x - mean) / torch.sqrt(var + self.eps) * w[p + "weight"] + w[p + "bias"]


def bigram(w, ids, training):
    return w["logits"][ids]


def bow(w, ids, training):
    x = w["wte.weight"][ids] + w["wpe.weight"][: ids.shape[1]]
    means = torch.stack([x[:, : t + 1].mean(1) for t in range(ids.shape[1])], 1)
    x = x + means
    p = "context_block.mlp."
    h = torch.tanh(F.linear(x, w[p + "c_fc.weight"], w[p + "c_fc.bias"]))
    x = x + F.linear(h, w[p + "c_proj.weight"], w[p + "c_proj.bias"])
    return F.linear(x, w["lm_head.weight"], w["lm_head.bias"])


def mlp(w, ids, training):
    """makemore: newest first, row V where nothing is; one hidden layer."""
    outs = []
    for t in range(ids.shape[1]):
        seen = window(ids, t, T, V).flip(1)
        x = w["wte.weight"][seen].reshape(len(ids), -1)
        x = torch.tanh(F.linear(x, w["mlp.0.weight"], w["mlp.0.bias"]))
        outs.append(F.linear(x, w["mlp.2.weight"], w["mlp.2.bias"]))
    return torch.stack(outs, 1)


def mlp_norm(w, ids, training):
    """The lecture: three tokens, newest last, token 0 before; two layers."""
    n = 3
    seen = torch.stack([window(ids, t, n, 0) for t in range(ids.shape[1])], 1)
    x = w["wte.weight"][seen].reshape(*ids.shape, -1)
    for i in (0, 3):
        x = F.linear(x, w[f"mlp.{i}.weight"])
        x = torch.tanh(Norm(w, f"mlp.{i + 1}.", training, 0, True, 0.001)(x))
    return F.linear(x, w["mlp.6.weight"], w["mlp.6.bias"])


def wavenet(w, ids, training):
    seen = torch.stack([window(ids, t, 4, 0) for t in range(ids.shape[1])], 1)
    x = w["wte.weight"][seen]  # (B,T,4,E)
    for l in range(2):
        x = torch.cat([x[:, :, 0::2], x[:, :, 1::2]], -1)
        x = F.linear(x, w[f"level.{l}.linear.weight"])
        x = torch.tanh(Norm(w, f"level.{l}.norm.", training)(x))
    return F.linear(x[:, :, 0], w["lm_head.weight"], w["lm_head.bias"])


def gate(w, name, x, h):
    return F.linear(torch.cat([x, h], 1), w[f"cell.xh_to_{name}.weight"], w[f"cell.xh_to_{name}.bias"])


def recurrent(step, parts):
    def run(w, ids, training):
        carried = [w[n].expand(len(ids), -1) for n in ("start", "start_cell")[:parts]]
        outs = []
        for t in range(ids.shape[1]):
            carried = step(w, w["wte.weight"][ids[:, t]], *carried)
            outs.append(F.linear(carried[0], w["lm_head.weight"], w["lm_head.bias"]))
        return torch.stack(outs, 1)

    return run


def rnn(w, x, h):
    return [torch.tanh(gate(w, "h", x, h))]


def gru(w, x, h):
    z, r = torch.sigmoid(gate(w, "z", x, h)), torch.sigmoid(gate(w, "r", x, h))
    bar = torch.tanh(gate(w, "hbar", x, r * h))
    return [(1 - z) * h + z * bar]


def lstm(w, x, h, c):
    i, f, o = (torch.sigmoid(gate(w, n, x, h)) for n in "ifo")
    c = f * c + i * torch.tanh(gate(w, "g", x, h))
    return [o * torch.tanh(c), c]


def linear(name, out, inp, bias=True):
    return {name + ".weight": (out, inp), **({name + ".bias": (out,)} if bias else {})}


def norm(name, n):
    return {name + "." + k: (n,) for k in ("weight", "bias", "running_mean", "running_var")}


def cell(names, parts):
    shapes = {n: (1, H) for n in ("start", "start_cell")[:parts]}
    shapes["wte.weight"] = (V, E)
    for n in names:
        shapes |= linear(f"cell.xh_to_{n}", H, E + H)
    return shapes | linear("lm_head", V, H)


MODELS = {
    "bigram": (bigram, {"logits": (V, V)}),
    "bow": (bow, {"wte.weight": (V, E), "wpe.weight": (T, E)} | linear("context_block.mlp.c_fc", H, E)
            | linear("context_block.mlp.c_proj", E, H) | linear("lm_head", V, E)),
    "mlp": (mlp, {"wte.weight": (V + 1, E)} | linear("mlp.0", H, T * E) | linear("mlp.2", V, H)),
    "mlp_norm": (mlp_norm, {"wte.weight": (V, E)} | linear("mlp.0", H, 3 * E, False) | norm("mlp.1", H)
                 | linear("mlp.3", H, H, False) | norm("mlp.4", H) | linear("mlp.6", V, H)),
    "wavenet": (wavenet, {"wte.weight": (V, E)} | linear("level.0.linear", H, 2 * E, False) | norm("level.0.norm", H)
                | linear("level.1.linear", H, 2 * H, False) | norm("level.1.norm", H) | linear("lm_head", V, H)),
    "rnn": (recurrent(rnn, 1), cell(["h"], 1)),
    "gru": (recurrent(gru, 1), cell(["z", "r", "hbar"], 1)),
    "lstm": (recurrent(lstm, 2), cell(["i", "f", "o", "g"], 2)),
}


def main():
    for index, (name, (forward, shapes)) in enumerate(MODELS.items()):
        torch.manual_seed(index)
        w = {}
        for n, shape in shapes.items():
            w[n] = torch.randn(shape) * 0.7
            if n.endswith("running_var"):
                w[n] = w[n].abs() + 0.5
                w[n.replace("running_var", "num_batches_tracked")] = torch.tensor(3)
        buffers = {n: t.clone() for n, t in w.items() if "running_" in n or n.endswith("tracked")}
        leaves = {n: t.requires_grad_() for n, t in w.items() if n not in buffers}
        out = {"weight." + n: t.detach().clone() for n, t in w.items()}
        ids = torch.randint(V, (B, T))
        targets = torch.randint(V, (B, T))
        targets[0, T - 2:] = -1
        logits = forward(w, ids, True)
        loss = F.cross_entropy(logits.reshape(-1, V), targets.reshape(-1), ignore_index=-1)
        loss.backward()
        out |= {"ids": ids, "targets": targets, "logits": logits, "loss": loss}
        out |= {"grad." + n: t.grad for n, t in leaves.items()}
        if buffers:
            out |= {"after." + n: w[n] for n in buffers}
            out["evaluated"] = forward(w, ids, False)
        save_file({n: t.detach().contiguous() for n, t in out.items()},
                  os.path.join(HERE, f"course_{name}.safetensors"))
        print(name, f"{loss.item():.6f}")


main()
