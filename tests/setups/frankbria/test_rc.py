"""``.ralphrc`` as data: what is more than assignments is refused, and what only bash could tell is named."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError
from bridge.loop.setups.frankbria.layout import folder_of
from bridge.loop.setups.frankbria.rc import parse
from bridge.loop.setups.frankbria.settings import resolve

if TYPE_CHECKING:
    from bridge.loop.setups.frankbria.settings import FrankbriaSettings

REFUSED = {
    'PROJECT_NAME="a`b"': "a command substitution",
    "if true; then A=1; fi": "a command",
    "[ -f x ] && A=1": "a command",
    "source other": "a command",
    "A=1 cmd": "a command behind an assignment",
    "CB_AUTO_RESET=x&": "only bash",
    "ALLOWED_TOOLS=Write,Bash(git *)": "wants quotes",
    'A="x': "a quote that is not closed",
    "A=${X:-y": "a brace that is not closed",
    "A=x\nA=" + "$A" * 2_000_000: "more than 1,000,000 characters",
    "A=xx\n" + "A=$A$A\n" * 40: "more than 1,000,000 characters",
}


@pytest.mark.parametrize("text", REFUSED, ids=[text[:20] for text in REFUSED])
def test_f33_what_is_no_assignment_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse(f"OTHER=1\n\n{text}\nMORE=2\n", {"HOME": "/home/u"})
    assert re.match(r"\.ralphrc line \d+: ", str(raised.value))
    assert REFUSED[text] in str(raised.value)
    assert "\n  next: " in str(raised.value)


def settings_of(text: str, **env: str) -> FrankbriaSettings:
    folder = folder_of(Path("/nowhere"))
    return resolve(folder, env=env, rc=parse(text, env))


def test_a_setting_that_takes_a_command_is_named_and_the_loop_goes_on_with_the_default() -> None:
    text = 'PROJECT_NAME="$(basename "$PWD")"\nMINE=`date`\nMAX_CALLS_PER_HOUR=$(nproc)\nCB_COOLDOWN_MINUTES=7\n'
    found = settings_of(text)
    assert (found.max_calls_per_hour, found.cb_cooldown_minutes) == (100, 7)
    assert found.notices == (
        ".ralphrc line 1: PROJECT_NAME can't be read (a command substitution): it is empty by default",
        ".ralphrc line 3: MAX_CALLS_PER_HOUR can't be read (a command substitution): it is 100 by default",
    )
    found = settings_of(text, MAX_CALLS_PER_HOUR="9")
    assert found.max_calls_per_hour == 9
    assert found.notices[1].endswith("it is 9 in the environment")


def test_an_exported_value_that_takes_a_command_is_named() -> None:
    (notice,) = settings_of("export TOKEN=$(pass x)\n").notices
    assert notice == ".ralphrc line 1: TOKEN can't be read (a command substitution): the agent doesn't get it"


@pytest.mark.parametrize("name", ["ALLOWED_TOOLS", "CLAUDE_MODEL", "SANDBOX_PROVIDER", "CLAUDE_ALLOWED_TOOLS"])
def test_a_setting_without_which_it_would_be_another_loop_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"\.ralphrc line 2: a command substitution: '\w+=\$\(pick\)'"):
        settings_of(f"A=1\n{name}=$(pick)\n")
    assert settings_of(f"A=1\n{name}=$(pick)\n", **{name: "x"}).notices


def test_lines_exports_and_windows() -> None:
    found = parse(
        "\ufeff# first\r\nexport A=1\r\nB='2\r\n3'\r\nPATH=/x:$PATH\r\nC=4\r\n", {"PATH": "/bin", "A": "0"}
    )
    assert {name: (each.value, each.line) for name, each in found.entries.items()} == {
        "A": ("1", 2),
        "B": ("2\n3", 3),
        "PATH": ("/x:/bin", 5),
        "C": ("4", 6),
    }
    assert found.exported == {"A": "1", "PATH": "/x:/bin"}


def test_an_array_is_told() -> None:
    assert "ALLOWED_TOOLS is an array" in parse("ALLOWED_TOOLS=(Read Write)\nhelp=(x)\n", {}).notices[0]
    assert parse("ALLOWED_TOOLS=(Read Write)\n", {}).entries["ALLOWED_TOOLS"].value == "Read"
