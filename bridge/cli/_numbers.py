"""Numbers as options take them."""

from __future__ import annotations

import math
from typing import Any

import click


class Number(click.FloatRange):
    """A finite number in a range: every comparison with nan is false, so that a range alone lets it in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            least = "" if self.min is None else f", {'more than' if self.min_open else 'at least'} {self.min:g}"
            self.fail(f"{number:g} is not a finite number; expected one{least}", param, ctx)
        return number


ABOVE_ZERO = Number(0, min_open=True)
