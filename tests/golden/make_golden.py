#!/usr/bin/env python3
"""Makes every fixture of this folder again, with whatever torch is installed.

  python3 tests/golden/make_golden.py

A make_NAME_golden.py writes its files itself, or prints what NAME.txt holds.
"""
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
for script in sorted(here.glob("make_*_golden.py")):
    run = subprocess.run(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, check=True
    )
    name = script.stem.removeprefix("make_").removesuffix("_golden")
    if run.stdout:
        (here / f"{name}.txt").write_text(run.stdout)
    print(f"{name}: done")
