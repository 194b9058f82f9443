"""No option takes nan or infinity for a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from bridge.cli import app
from bridge.cli._numbers import Number

if TYPE_CHECKING:
    from collections.abc import Iterator


def _parameters(command: click.Command, context: click.Context, path: str) -> Iterator[tuple[str, click.Parameter]]:
    yield from ((f"{path} {each.name}", each) for each in command.params)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if (inner := command.get_command(context, name)) is not None:
                yield from _parameters(inner, context, f"{path} {name}")


def test_every_range_of_numbers_is_finite() -> None:
    root = app.cli
    found = [
        (where, each.type)
        for where, each in _parameters(root, click.Context(root), "")
        if isinstance(each.type, click.FloatRange)
    ]
    assert len(found) > 5
    assert [where for where, kind in found if not isinstance(kind, Number)] == []


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e400"])
def test_what_is_not_finite_is_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"range|finite number; expected one, more than 0"):
        Number(0, min_open=True).convert(text, None, None)
