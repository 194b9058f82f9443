"""``adopt`` and ``eject`` for a command that lives with the user: one stand-in, markers, every byte back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError, ProjectUnusable
from bridge.loop.setups.frankbria import adoption
from bridge.loop.setups.standin import StandInState, kept, state_of
from tests import command as tests_command
from tests.setups.frankbria.installation import Home, fingerprint

if TYPE_CHECKING:
    from bridge.loop.setups.setup_kind import Adopted


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    made = Home(tmp_path / "home")
    made.path.mkdir()
    made.install()
    monkeypatch.setenv("HOME", str(made.path))
    monkeypatch.setenv("PATH", made.environment()["PATH"])
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return made


def adopt(project: Path) -> Adopted:
    return adoption.adopt(adoption.at(project))


def eject(project: Path) -> Adopted:
    return adoption.eject(adoption.at(project))


def ralph(at: Home, project: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["ralph", *words],
        cwd=project,
        env=at.environment(**env),
        input="typed\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def status(project: Path) -> str:
    return subprocess.run(
        ["git", "--no-optional-locks", "status", "--porcelain"],
        cwd=project,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_adopt_and_eject_leave_every_byte(home: Home) -> None:
    project = home.project("one")
    before = fingerprint(home.path)
    assert adopt(project).changed
    assert state_of(home.command) is StandInState.STAND_IN
    assert status(project) == ""
    done = eject(project)
    assert (done.changed, "runs the original again" in done.message) == (True, True)
    after = fingerprint(home.path)
    assert {path: after[path] for path in before} == before
    assert set(after) - set(before) <= {str(home.path / ".local/state")}
    assert not eject(project).changed


def test_adopt_twice_is_adopt_once(home: Home) -> None:
    project = home.project("one")
    adopt(project)
    before = fingerprint(home.path)
    done = adopt(project)
    assert (done.changed, "already" in done.message) == (False, True)
    assert fingerprint(home.path) == before


def test_two_projects_of_one_user_and_a_third_that_is_not_adopted(home: Home) -> None:
    one, two, third = (home.project(name) for name in ("one", "two", "third"))
    original = fingerprint(home.command, home.installed)
    adopt(one)
    adopt(two)
    done = ralph(home, third, "--live", "a b", "", "*", A="1")
    assert (done.returncode, done.stdout, done.stderr) == (7, "ralph_loop.sh first\n", "")
    assert str(two) in eject(one).message
    assert state_of(home.command) is StandInState.STAND_IN
    assert ralph(home, one).stdout == "ralph_loop.sh first\n"
    eject(two)
    for name in ("argv", "cwd", "env", "stdin"):
        (home.installed / f"said.{name}").unlink()
    assert (
        fingerprint(home.command, home.installed) | {str(home.installed): original[str(home.installed)]} == original
    )


def test_elsewhere_words_folder_environment_and_streams_are_the_same(home: Home) -> None:
    third = home.project("third")
    words = ("--calls", "7", "a b", "", "it's", "*", "$(x)", "-")
    plain = {"python": "mine", "package": "p", "home": "h", "here": "x", "RALPH_HOME": "elsewhere"}
    seen = []
    for adopted in (False, True):
        if adopted:
            adopt(home.project("one"))
        done = ralph(home, third, *words, **plain)
        said = {name: (home.installed / f"said.{name}").read_bytes() for name in ("argv", "cwd", "env", "stdin")}
        said["env"] = b"\n".join(sorted(said["env"].split(b"\0")))
        seen.append((done.returncode, done.stdout, done.stderr, said))
    assert seen[0] == seen[1]
    assert b"python=mine" in seen[1][3]["env"]


def test_what_the_original_gets_when_we_hand_over(home: Home) -> None:
    """With the same words; and SIGPIPE, which Python ignores, is not ignored there."""
    adopt(home.project("one"))
    (home.installed / "ralph_loop.sh").write_text('#!/bin/bash\nyes -- "$*"\n')
    code = "import sys; from bridge.loop.setups.frankbria.adoption import hand_over; hand_over(sys.argv[1:])"
    script = 'set -o pipefail; python -c "$0" "$@" | head -1; echo ${PIPESTATUS[0]}'
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script, code, "--queue-status", "a b"],
        env=home.environment(PATH=path),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout == "--queue-status a b\n141\n", done.stderr


def test_the_product_is_gone_and_the_original_goes_on(home: Home) -> None:
    project = home.project("one")
    adopt(project)
    text = home.command.read_text()
    home.command.write_text(text.replace(sys.executable, "/gone/python"))
    done = ralph(home, project, "--live", PATH=f"{home.command.parent}:/usr/bin:/bin")
    assert (done.returncode, done.stdout) == (7, "ralph_loop.sh first\n")
    assert "no ralph-bridge here" in done.stderr


def test_the_kept_original_is_gone_and_projects_elsewhere_go_on(home: Home) -> None:
    adopt(home.project("one"))
    kept(home.command).unlink()
    assert ralph(home, home.project("third")).stdout == "ralph_loop.sh first\n"


def test_a_link_is_a_link_again(home: Home) -> None:
    project = home.project("one")
    dotfiles = home.path / "dotfiles/ralph"
    dotfiles.parent.mkdir()
    home.command.rename(dotfiles)
    home.command.symlink_to("../../dotfiles/ralph")
    before = fingerprint(home.command, dotfiles)
    adopt(project)
    assert not home.command.is_symlink()
    assert ralph(home, home.project("third")).stdout == "ralph_loop.sh first\n"
    eject(project)
    assert fingerprint(home.command, dotfiles) == before


def test_installed_again_meanwhile(home: Home) -> None:
    """Over the stand-in: no older copy is put over it; adopting again takes the new one as the original."""
    project = home.project("one")
    adopt(project)
    home.install("second")
    home.command.write_text(home.command.read_text() + "# second\n")
    new = fingerprint(home.command, home.installed)
    assert ralph(home, home.project("third")).stdout == "ralph_loop.sh second\n"
    assert adopt(project).changed
    assert kept(home.command).read_text().endswith("# second\n")
    eject(project)
    assert fingerprint(home.command)[str(home.command)] == new[str(home.command)]
    assert not kept(home.command).exists()


def test_installed_again_and_ejected(home: Home) -> None:
    project = home.project("one")
    names = sorted(os.listdir(home.command.parent))
    adopt(project)
    home.install("second")
    home.command.write_text(home.command.read_text() + "# second\n")
    new = fingerprint(home.command, home.installed)
    eject(project)
    assert fingerprint(home.command, home.installed) == new
    assert sorted(os.listdir(home.command.parent)) == names


def test_uninstalled_meanwhile(home: Home) -> None:
    project = home.project("one")
    adopt(project)
    home.uninstall()
    assert eject(project).changed
    assert os.listdir(home.command.parent) == []
    assert not adoption.is_adopted(project)
    with pytest.raises(ConfigurationError, match="not installed"):
        adopt(project)
    assert not adoption.is_adopted(project)


def test_an_installation_that_was_deleted_takes_the_stand_in_with_it(home: Home) -> None:
    project = home.project("one")
    adopt(project)
    subprocess.run(["rm", "-rf", home.installed], check=True)
    eject(project)
    assert not os.path.lexists(home.command)
    assert not os.path.lexists(kept(home.command))


def test_a_stand_in_that_was_deleted(home: Home) -> None:
    project = home.project("one")
    before = fingerprint(home.command)
    adopt(project)
    home.command.unlink()
    eject(project)
    assert fingerprint(home.command) == before
    adopt(project)
    home.command.unlink()
    assert adopt(project).changed
    eject(project)
    assert fingerprint(home.command) == before


def test_without_a_command_nothing_is_touched(home: Home) -> None:
    """A container that calls ~/.ralph/ralph_loop.sh by its path."""
    project = home.project("one")
    home.command.unlink()
    before = fingerprint(home.path)
    with pytest.raises(ConfigurationError, match=r"ralph-bridge run"):
        adopt(project)
    after = fingerprint(home.path)
    assert {path: after[path] for path in before} == before
    assert not adoption.is_adopted(project)


def test_a_project_that_is_gone_does_not_count(home: Home) -> None:
    one, two = home.project("one"), home.project("two")
    before = fingerprint(home.command)
    adopt(one)
    adopt(two)
    subprocess.run(["rm", "-rf", one], check=True)
    eject(two)
    assert fingerprint(home.command) == before


def test_a_project_that_has_moved(home: Home) -> None:
    project = home.project("one")
    before = fingerprint(home.command)
    adopt(project)
    project.rename(project.with_name("moved"))
    assert eject(project.with_name("moved")).changed
    assert fingerprint(home.command) == before


def test_a_stand_in_that_somebody_has_changed(home: Home) -> None:
    project = home.project("one")
    adopt(project)
    home.command.write_text(home.command.read_text() + "# mine\n")
    changed = fingerprint(home.command, kept(home.command))
    for act in (adopt, eject, eject):
        with pytest.raises(ConfigurationError, match="somebody has changed"):
            act(project)
        assert fingerprint(home.command, kept(home.command)) == changed


def test_a_file_of_the_user_under_the_name_of_the_kept_original(home: Home) -> None:
    project = home.project("one")
    own = kept(home.command)
    own.write_text("mine\n")
    assert not eject(project).changed
    assert own.read_text() == "mine\n"
    done = adopt(project)
    assert done.set_aside is not None
    eject(project)
    assert done.set_aside.read_text() == "mine\n"


def test_a_marker_that_is_a_file_of_somebody(home: Home) -> None:
    project = home.project("one")
    (project / adoption.MARKER).write_text("mine\n")
    before = fingerprint(home.command)
    with pytest.raises(ProjectUnusable):
        adopt(project)
    assert fingerprint(home.command) == before
    assert (project / adoption.MARKER).read_text() == "mine\n"


def test_another_ralph_on_path_is_told_of(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    other = home.path / "bin/ralph"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{other.parent}:{os.environ['PATH']}")
    assert f"PATH finds another `ralph` before it: {other}" in adopt(home.project("one")).message


def test_a_project_without_git_and_a_folder_with_odd_characters(home: Home) -> None:
    project = home.project("it's \udcff odd\nname", git=False)
    before = fingerprint(home.path)
    adopt(project)
    eject(project)
    after = fingerprint(home.path)
    assert {path: after[path] for path in before} == before


def test_the_stand_in_is_clean_shell(home: Home) -> None:
    adopt(home.project("one"))
    program = f"{os.path.dirname(sys.executable)}/shellcheck"
    done = subprocess.run([program, str(home.command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_elsewhere_no_process_but_the_original_is_started(home: Home) -> None:
    """That is what it costs: a shell that looks for one folder and becomes the original."""
    adopt(home.project("one"))
    third = home.project("third")
    (home.installed / "ralph_loop.sh").write_text("#!/bin/bash\necho $$ $PPID\n")
    process = subprocess.Popen(["ralph"], cwd=third, env=home.environment(), stdout=subprocess.PIPE, text=True)
    out, _ = process.communicate(timeout=60)
    assert out.split() == [str(process.pid), str(os.getpid())]


def test_a_folder_that_is_no_project_any_more_is_ejected_by_its_marker(home: Home) -> None:
    """And in any folder, those that are gone are forgotten, with the stand-in."""
    one, two = home.project("one"), home.project("two")
    before = fingerprint(home.command)
    adopt(one)
    adopt(two)
    (one / ".ralphrc").unlink()
    (one / ".ralph/PROMPT.md").unlink()
    done = tests_command.run(["eject"], cwd=one, env=home.environment())
    assert (done.returncode, f"stand-in for {two}" in done.stdout) == (0, True), done.stderr
    subprocess.run(["rm", "-rf", two], check=True)
    done = tests_command.run(["eject", "--setup", "frankbria"], cwd=home.path, env=home.environment())
    assert done.returncode == 0, done.stderr
    assert fingerprint(home.command) == before


def test_the_home_with_the_installation_is_no_project(home: Home) -> None:
    """Its ``.ralph/ralph_loop.sh`` is everybody's, and never replaced."""
    before = fingerprint(home.installed)
    done = tests_command.run(["adopt"], cwd=home.path, env=home.environment())
    assert (done.returncode, "installed here" in done.stderr) == (2, True), done.stderr
    assert fingerprint(home.installed) == before
