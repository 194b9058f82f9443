"""Whatever the kind of setup: a turn that is to run in a box runs in one, or nothing runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.probes import probe
from tests.examples import EXAMPLES, project
from tests.machine import NO_BOX
from tests.night.test_fallback import install, tools

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.examples import Project

bwrap = pytest.mark.skipif(probe(Wishes(provider="bwrap"), os.environ) is not None, reason=NO_BOX)
_LOOKS = """\
for each in "$HOME/.netrc" "$HOME/other/notes"; do
    grep -q secret "$each" 2>/dev/null && echo "$each" >> reached
done
(: > .git/hooks/new) 2>/dev/null
ls /proc | grep -c '^[0-9]' > processes
[ -n "${SECRET_TOKEN:-}" ] && echo SECRET_TOKEN >> reached
touched; say looked
"""


@pytest.fixture(params=EXAMPLES)
def boxed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    """A project of each kind in the home of somebody with secrets, whose turns are to run in bubblewrap."""
    home = tmp_path / "home"
    for name in (".netrc", "other/notes"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("secret\n")
    configured = home / ".config/ralph-bridge/config.toml"
    configured.parent.mkdir(parents=True)
    with project(EXAMPLES[request.param], home / "place") as made:
        configured.write_text(f'[sandbox]\nprovider = "bwrap"\nwrite = ["{made.kept}"]\n')
        made.env |= {"HOME": str(home), "SECRET_TOKEN": "s", "XDG_CONFIG_HOME": ""}
        yield made


@bwrap
def test_a_turn_sees_neither_the_home_nor_processes_nor_secrets(boxed: Project) -> None:
    boxed.done_after(_LOOKS)
    loop = boxed.start()
    loop.finished()
    assert boxed.begun() > 0, loop.said
    assert not (boxed.path / "reached").exists(), (boxed.path / "reached").read_text()
    assert int((boxed.path / "processes").read_text()) < 30
    assert not (boxed.path / ".git/hooks/new").exists()


@bwrap
def test_a_turn_sends_its_loop_no_message_and_what_its_user_sends_meanwhile_arrives(boxed: Project) -> None:
    inbox = boxed.state / boxed.example.kind.logs / "inbox"
    sends = (
        f'mkdir -p "{inbox}"; for each in {"0" * 20}-01234567.text pause; do echo giraffe > "{inbox}/$each"; done'
    )
    hears = 'printf "%s\\n" "$@" > "$kept/turn.$turn/told"; timeout 5 cat >> "$kept/turn.$turn/told"'
    boxed.turns(f"{{ {sends}; }} 2> /dev/null; {boxed.held}", f"{hears}; work")
    loop = boxed.start("--max-iterations", "2")
    boxed.wait_until_up()
    assert boxed.run("tell", "Mind the zebra.").returncode == 0
    boxed.let_go()
    loop.finished()
    assert boxed.begun() == 2, loop.said
    assert "zebra" in boxed.of_turn(2, "told"), loop.said
    assert "giraffe" not in boxed.of_turn(2, "told")
    assert "undone" not in loop.said


@bwrap
def test_a_turn_makes_no_file_of_the_loops_state_another_one(boxed: Project) -> None:
    """None of all that it had written by its second turn could be replaced, or that was undone, or refused, and
    reported: what the loop writes in the middle of a turn is no mount any more."""
    yours = {os.fspath(each) for each in boxed.state.rglob("*")}
    (boxed.kept / "yours").write_text("".join(f"{each}\n" for each in sorted(yours)))
    replaces = (
        f'find "{boxed.state}" -name ".git*" -prune -o -type f -print | grep -vxFf "$kept/yours" > "$kept/loops"; '
        'while read -r each; do rm -f "$each" && ln -s "$HOME/.netrc" "$each" && echo "$each" >> "$kept/reached"; '
        'done < "$kept/loops" 2> /dev/null'
    )
    boxed.turns("work", f"{replaces}; work")
    loop = boxed.start("--max-iterations", "3")
    loop.finished()
    reached, loops = boxed.kept / "reached", (boxed.kept / "loops").read_text().splitlines()
    assert [each for each in loops if each.endswith("/.ralph_bridge.json")]
    assert not [each for each in loops if os.path.islink(each)]
    for each in reached.read_text().splitlines() if reached.exists() else ():
        name = os.path.relpath(each, boxed.path)
        assert f"the turn had changed {name}" in loop.said or f"{each} is not used" in loop.said


def test_without_the_provider_nothing_runs(boxed: Project) -> None:
    boxed.done_after("touched")
    done = boxed.start(PATH=f"{boxed.path / 'bin'}:{_without(boxed, 'bwrap')}")
    done.finished()
    assert boxed.begun() == 0, done.said
    assert "bwrap" in done.said
    assert "next:" in done.said


def _without(made: Project, program: str) -> str:
    """A folder with links to all that PATH names, but one program."""
    folder = made.path.parent / "programs"
    folder.mkdir()
    for each in os.environ["PATH"].split(os.pathsep):
        for name in os.listdir(each) if os.path.isdir(each) else ():
            if name != program and not os.path.lexists(folder / name):
                os.symlink(os.path.join(each, name), folder / name)
    return str(folder)


@bwrap
@pytest.mark.slow
@pytest.mark.parametrize("boxed", ["plain", "snarktank"], indirect=True)
def test_a_stand_ins_box_has_its_own_clis_state_in_it_and_not_that_of_the_other(boxed: Project) -> None:
    states = (".claude/.credentials.json", ".codex/auth.json")
    for name in states:
        path = Path(boxed.env["HOME"], name)
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}\n")
    looks = f'for each in {" ".join(states)}; do [ ! -e "$HOME/$each" ] || echo "$each" >> "$kept/seen.$who"; done'
    install(boxed, f"who=codex; {looks}")
    boxed.turns(f"who=claude; {looks}; limited 600")
    loop = boxed.start("--max-iterations", "1", "--retry-delay", "0", "--fallback", "codex")
    assert loop.finished() == boxed.example.used_up, loop.said
    own = boxed.example.tool.removeprefix("driver ")
    assert tools(boxed) == [f"{own} in bwrap", "codex in bwrap"]
    assert [(boxed.kept / f"seen.{who}").read_text().split() for who in ("claude", "codex")] == [
        [s] for s in states
    ]
