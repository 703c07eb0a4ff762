"""Writes convert.txt: how torch rounds f32 to bf16 and f16, for convert_test.

Each line: the bits of an f32, of its bf16 and of its f16, in hex.
    python tests/golden/make_convert_golden.py > tests/golden/convert.txt
"""

import numpy
import torch

bits = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7f7fffff, 0x00000001}
random = numpy.random.RandomState(1)


def around(value):
    center = int(numpy.float32(value).view(numpy.uint32))
    for sign in (0, 0x80000000):
        for delta in (-1, 0, 1):
            bits.add(center + delta | sign)


# Halfway between two halves, at normal and subnormal scale and at overflow.
for step, scale in ((2.0**-11, 1), (2.0**-11, 2.0**-14), (2.0**-25, 1),
                    (2.0**-24, 1)):
    for k in (1, 2, 3, 5):
        around(k * step * scale)
        around(scale + k * step * scale)
for value in (65504, 65519.996, 65520, 65536, 2.0**-14, 2.0**-24, 2.0**-25,
              1.5 * 2.0**-25, 2.0**-26, 3.3895314e38, 3.3961775e38):
    around(value)
# Halfway between two bf16, even and odd below it.
for k in (0x3f800000, 0x3f810000, 0x00010000, 0x7f7e0000):
    for delta in (0x7fff, 0x8000, 0x8001):
        bits.add(k + delta)
bits.update(int(x) for x in random.randint(0, 2**32, 100, dtype=numpy.uint32))
# Random ones within the range of f16.
bits.update(int(x) for x in
            (random.randn(100) * 2.0 ** random.randint(-26, 16, 100)).astype(
                numpy.float32).view(numpy.uint32))

f32 = torch.from_numpy(numpy.array(sorted(bits), dtype=numpy.uint32).view(numpy.float32))
f32 = f32[~torch.isnan(f32)]  # a NaN's payload is nobody's promise
print("# torch", torch.__version__.split("+")[0])
for source, b, h in zip(f32.view(torch.int32).tolist(),
                        f32.bfloat16().view(torch.int16).tolist(),
                        f32.half().view(torch.int16).tolist()):
    print(f"{source & 0xffffffff:08x} {b & 0xffff:04x} {h & 0xffff:04x}")
