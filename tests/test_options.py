"""Options from Python: a wrong name or type is told by name, with what is expected, in every kind of setup."""

from __future__ import annotations

import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bridge import Loop, Shell, Swarm
from bridge.base.options import check_options
from bridge.errors import ConfigurationError, HookNotFound
from bridge.loop.loops import LoopOptions, _run_options
from bridge.loop.setups import KINDS, kinds
from bridge.loop.setups.options import OPTIONS
from bridge.loop.tasks.task import Task

WRONG: dict[str, tuple[object, ...]] = {
    "str": (3, b"x", ["x"]),
    "str | os.PathLike[str]": (3, True, ["x"]),
    "bool": ("yes", 1, 0, None),
    "int": ("3", 3.0, True, float("nan"), [3]),
    "float": ("3", True, float("nan"), float("inf"), [3], 10**400),
    "float | timedelta": ("3", True, float("nan"), float("inf"), [3], 10**400),
    "Sequence[str]": ("build 3", [3], 3),
    "Mapping[str, str]": ("X=1", {"X": 1}, {1: "x"}, ["X"]),
    "dict[str, Any]": ("X=1", 3),
}
"""Values that don't fit, by annotation."""


def _wrong(annotations: dict[str, Any]) -> list[tuple[str, object]]:
    found = []
    for name, each in annotations.items():
        kind = str(getattr(each, "__forward_arg__", each))
        wrong = WRONG.get(kind.removesuffix(" | None"), ())
        found += [(name, value) for value in wrong if value is not None or not kind.endswith(" | None")]
    return found


def test_the_typed_face_of_a_loops_options_is_that_of_the_table() -> None:
    typed = {
        name: str(getattr(each, "__forward_arg__", each)) for name, each in LoopOptions.__annotations__.items()
    }
    assert typed == {name: each.annotation for name, each in OPTIONS.items() if each.python}


def test_every_option_of_a_kind_is_one_of_the_table() -> None:
    assert {name for kind in kinds().values() for name in kind.options} <= OPTIONS.keys()


@pytest.mark.parametrize("setup", [None, *KINDS])
def test_every_wrong_option_of_a_loop_is_named_in_every_setup(tmp_path: Path, setup: str | None) -> None:
    (tmp_path / "PROMPT.md").write_text("x")
    for name, value in _wrong(LoopOptions.__annotations__):
        with pytest.raises(ConfigurationError, match=rf"^Loop\.open: {name} is .*, expected ") as caught:
            Loop.open(tmp_path, setup=setup, **{name: value})  # type: ignore[arg-type]
        assert repr(value)[:200] in str(caught.value)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["PROMPT.md"]


def test_an_option_that_nobody_knows_is_told_with_the_one_that_was_meant(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no option 'max_iteration'. Did you mean max_iterations\?"):
        Loop.open(tmp_path, max_iteration=3)  # type: ignore[call-arg]
    with pytest.raises(ConfigurationError, match=r"Swarm has no option 'job'. Did you mean jobs\?"):
        Swarm(tmp_path, job=3)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"no option 'max_iteration'. Did you mean max_iterations\?"):
        Swarm(tmp_path, options={"max_iteration": 3})


@pytest.mark.parametrize("project", [3, None, b"x", ["."]])
def test_a_project_is_a_path(project: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"project is .* expected a text or a path"):
        Loop.open(project)
    with pytest.raises(ConfigurationError, match=r"project is .* expected a text or a path"):
        Swarm(project)


def test_every_wrong_option_of_a_swarm_is_named(tmp_path: Path) -> None:
    annotations = {name: each for name, each in Swarm.__init__.__annotations__.items() if name != "unknown"}
    wrong = _wrong(annotations)
    assert {name for name, _ in wrong} >= {"jobs", "check", "tidy", "max_cost", "options", "task_minutes", "trees"}
    for name, value in wrong:
        with pytest.raises(ConfigurationError, match=rf"^Swarm: {name} is .*, expected "):
            Swarm(**{"project": tmp_path, name: value})  # type: ignore[arg-type]
    for name, value in _wrong(
        {name: LoopOptions.__annotations__[name] for name in ("timeout", "live", "settings")}
    ):
        if value is not None:
            with pytest.raises(ConfigurationError, match=f"{name} is .*, expected "):
                Swarm(tmp_path, options={name: value})


def test_right_ones_are_taken() -> None:
    given = {"driver": Path("x"), "max_iterations": 3, "max_minutes": 2, "words": ["a"], "settings": {"a": "b"}}
    check_options("Loop.open", given | {"live": False, "task": None}, LoopOptions.__annotations__)


def test_a_duration_may_be_a_timedelta(tmp_path: Path) -> None:
    given = LoopOptions(timeout=timedelta(hours=2), retry_delay=timedelta(seconds=3), max_minutes=4)
    asked = _run_options(given)
    assert (asked.timeout, asked.retry_delay, asked.max_minutes) == (120, 3, 4)
    durations = {name for name, each in LoopOptions.__annotations__.items() if "timedelta" in str(each)}
    assert durations == {name for name, each in OPTIONS.items() if each.metavar in ("MINUTES", "SECONDS")}
    (tmp_path / "PROMPT.md").write_text("Do it.\n")
    commit = ["-c", "user.name=t", "-c", "user.email=t@e.org", "commit", "-qm", "first"]
    for words in (["init", "-q"], ["add", "-A"], commit):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    for value in (timedelta(), timedelta(seconds=-1)):
        with pytest.raises(ConfigurationError, match=r"timeout is .*, expected a number of minutes above 0"):
            Loop.open(tmp_path, timeout=value)
        with pytest.raises(ConfigurationError, match=r"check_minutes is .*, expected a number of minutes above 0"):
            Swarm(tmp_path, [Task("a", "b", "c")], check_minutes=value)
    with pytest.raises(ConfigurationError, match=r"max_cost is .*\(timedelta\), expected a number"):
        Loop.open(tmp_path, max_cost=timedelta(1))  # type: ignore[arg-type]
    with Shell(grace=timedelta(milliseconds=100), timeout=timedelta(minutes=1)) as shell:
        shell.execute("f() { :; }")
        with shell.start("f", grace=timedelta(seconds=1)) as job:
            assert job.read() == b""
        with pytest.raises(ConfigurationError, match=r"^grace is 'x' \(str\), expected seconds \(0 or more\)"):
            shell.start("f", grace="x")  # type: ignore[arg-type]


def test_a_hook_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    script = tmp_path / "mine.sh"
    script.write_text("driver_name() { echo x; }\ndriver_display_name() { echo X; }\n")
    with Shell() as shell:
        shell.source(script)
        for isolated in (False, True):
            with pytest.raises(HookNotFound) as caught:
                shell.call("driver_nam", isolated=isolated)
            told = str(caught.value)
            assert "prelude" not in told
            assert f"script: {script}" in told
            assert "it has: driver_display_name, driver_name" in told
            assert "did you mean driver_name?" in told
