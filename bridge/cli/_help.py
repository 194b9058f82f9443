"""What our commands add to click's: how help is laid out, and what completes a parameter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from bridge.base.patterns import lazy
from bridge.cli._terminal import hanging

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from click.shell_completion import CompletionItem

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_CODES = lazy(r"(?P<title>Exit codes[^:]*): (?P<codes>\d+ [a-z].*)", re.DOTALL)
_NEXT = lazy(r"[,;.]\s+(?=\d+(?: and \d+)? [a-z])")
_ITEM = lazy(r"(\d+(?: and \d+)?) (.*)", re.DOTALL)


class HelpFormatter(click.HelpFormatter):
    """Click's, but that no option is broken at its hyphens, and that "Exit codes: 0 ..., 1 ..." becomes a list."""

    def write_text(self, text: str) -> None:
        """Write paragraphs; one that begins with a line of ``\\b`` stays as it is."""
        for number, paragraph in enumerate(text.split("\n\n")):
            if number:
                self.write_paragraph()
            indent = " " * self.current_indent
            if paragraph.startswith("\b\n"):
                self.write("".join(f"{indent}{line}\n" for line in paragraph.splitlines()[1:]))
            elif found := _CODES.match(" ".join(paragraph.split())):
                self.write(f"{indent}{found['title']}:\n")
                with self.indentation():
                    self.write_dl(_ITEM.findall(item)[0] for item in _NEXT.split(found["codes"].rstrip(".")))
            else:
                within = indent + " " * (len(paragraph) - len(paragraph.lstrip(" ")))
                self.write(hanging(within, " ".join(paragraph.split()), self.width) + "\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write names with a text each; one that is longer than its column has a line of its own."""
        rows = list(rows)
        wide = min(max(len(name) for name, _ in rows), col_max, self.width * 2 // 5) + col_spacing
        indent = " " * self.current_indent
        for name, text in rows:
            label = f"{indent}{name:{wide}}"
            if text and len(name) > wide - col_spacing:
                self.write(f"{indent}{name}\n")
                label = " " * (len(indent) + wide)
            self.write(hanging(label, text, self.width) + "\n")


def completes(what: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]:
    """What completes a parameter; `what` is a key of `bridge.cli.completion.COMPLETES`."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        from bridge.cli.completion import COMPLETES

        return COMPLETES[what](context, parameter, incomplete)

    return complete


class _Context(click.Context):
    formatter_class = HelpFormatter


class Group(click.Group):
    """A group whose commands are listed with the whole first sentence of their help."""

    context_class = _Context

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        command = super().get_command(ctx, name)
        if command is not None:
            command.context_class = _Context
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(1000)) for name, command in found if command is not None]
        write_commands(formatter, {"Commands": rows})


def write_commands(formatter: click.HelpFormatter, sections: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """List commands with a line of help each, in sections whose columns stand below each other."""
    wide = max(len(name) for rows in sections.values() for name, _ in rows)
    for title, rows in sections.items():
        with formatter.section(title):
            formatter.write_dl([(name.ljust(wide), text) for name, text in rows])
