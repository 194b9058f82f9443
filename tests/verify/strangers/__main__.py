"""Measures verify on the scripts of strangers: ``python -m tests.verify.strangers [WORD...]`` (any of them).

Says every false alarm and every miss with what verify says instead, then how many of each class it judges rightly.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from . import gaps, judged, strangers


def main(words: list[str]) -> None:
    known = gaps()
    of, right = Counter[str](), Counter[str]()
    for stranger in strangers():
        if words and not any(word in f"{stranger.kind} {stranger.name}" for word in words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            verdict = judged(stranger, Path(folder))
        expected = stranger.expected or "sound"
        groups = (stranger.kind, f"all: {expected}")
        of.update(groups)
        right.update(groups * verdict.right)
        if not verdict.right:
            state = "known" if stranger.name in known else "NEW"
            print(f"\n{stranger.kind} ({expected}; {state}) {stranger.name}\n{verdict.said}", flush=True)
        elif stranger.name in known:
            print(f"\nmended, take it out of gaps.yaml: {stranger.name}", flush=True)
    print()
    for group, number in of.items():
        print(f"{group:20} {right[group]:3} of {number:3} {100 * right[group] / number:5.1f} %")


main(sys.argv[1:])
