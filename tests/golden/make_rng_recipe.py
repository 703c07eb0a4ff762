"""Writes rng_recipe.txt: draws that PyTorch makes differently on Intel's
processors, from the way it makes them everywhere else.

There PyTorch takes bernoulli_ and exponential_ from MKL's generator. Elsewhere
each element takes one double d of the Mersenne Twister, in memory order:
bernoulli_(p) is d < p, exponential_(r) is -1/r log1p(-d), rounded to the type;
dropout(p) multiplies by bernoulli_(1-p) / (1-p); multinomial of one sample is
the first index of the largest weight / exponential_(1), in f32. Only that the
doubles are PyTorch's is compared with it here. The lines are as in rng.txt.
    python tests/golden/make_rng_recipe.py > tests/golden/rng_recipe.txt
"""

import math

import numpy as np
import torch

TYPES = {"f32": np.float32, "f64": np.float64}


class Doubles:
    def __init__(self, seed):
        self.twister = np.random.MT19937()
        self.twister._legacy_seeding(seed)

    def next(self):
        high, low = (int(x) for x in self.twister.random_raw(2))
        return ((high << 32 | low) & (2**53 - 1)) * 2.0**-53


def exponential(draw, rate, kind):
    return kind(-1.0 / rate * math.log1p(-draw.next()))


def show(call, values):
    print(call, ":", " ".join(float(v).hex() for v in values))


for seed in (0, 42, 2147483647, 2**32 - 1):
    torch.manual_seed(seed)
    check = Doubles(seed)
    assert all(x == check.next()
               for x in torch.rand(50, dtype=torch.float64).tolist())
    draw = Doubles(seed)
    print("seed", seed)
    for dtype, kind in TYPES.items():
        for p in (0.3, 0.0, 1.0, 0.999):
            show(f"bernoulli_ {dtype} {p} 8", [draw.next() < p for _ in range(8)])
        for rate in (1.0, 0.25, 30.0):
            show(f"exponential_ {dtype} {rate} 7",
                 [exponential(draw, rate, kind) for _ in range(7)])
        # Of -3.5, -2.5, ...
        for p in (0.2, 0.5, 0.9):
            show(f"dropout {dtype} {p} 9",
                 [kind(i - 3.5) * (kind(1) / kind(1 - p)
                                   if draw.next() < 1 - p else kind(0))
                  for i in range(9)])
        show(f"dropout {dtype} 0.0 3", [-3.5, -2.5, -1.5])
        show(f"dropout {dtype} 1.0 3", [0, 0, 0])
    for weights in ([1, 2, 3, 4], [0, 1e-6, 0, 5], [7], [1] * 27):
        drawn = []
        for _ in range(6):
            scores = [np.float32(w) / exponential(draw, 1.0, np.float32)
                      for w in weights]
            drawn.append(scores.index(max(scores)))
        show(f"multinomial 6 {len(weights)} {' '.join(map(str, weights))}",
             drawn)
