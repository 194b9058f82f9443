"""The image of a CLI: its Containerfile, and what docker or podman make of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.base.clis import known_clis
from bridge.base.process.ask import ask
from bridge.base.resources import shipped
from bridge.errors import ConfigurationError
from bridge.loop.sandbox.image import BASE, containerfile, image_name
from tests import command
from tests.sandbox.boxes import image_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.base.clis import Cli
    from bridge.loop.sandbox.box_policy import Provider
    from tests.sandbox.boxes import Place

INSTALLED = [cli for cli in known_clis().values() if cli.packages]
PINS = json.loads((shipped("vendor") / "package.json").read_text())["dependencies"]
CLIENT = """\
#!/bin/bash
printf '%s\\0' "$@" > "$0.words"
cat "${@: -2:1}" > "$0.text"
echo "STEP 1/3: FROM x"; echo "a warning" >&2; printf '\\033[2Jlast words\\n' >&2
exit "${STATUS:-0}"
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A PATH without a provider."""
    (tmp_path / "bin").mkdir()
    for name in ("bash", "cat"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "/bin/false")
    return {**os.environ, "PATH": str(tmp_path / "bin"), "HOME": str(tmp_path), "XDG_CONFIG_HOME": ""}


def client(env: dict[str, str], name: str) -> Path:
    program = Path(env["PATH"], name)
    program.write_text(CLIENT)
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("cli", INSTALLED, ids=lambda cli: cli.name)
def test_it_has_the_cli_in_the_version_that_we_are_held_against(cli: Cli, tmp_path: Path) -> None:
    done = command.run(["sandbox", "image", cli.name, "--print"], cwd=tmp_path, env=os.environ)
    assert (done.returncode, done.stderr) == (0, "")
    pin = PINS.get(cli.packages[0], "latest")
    assert f"\nRUN npm install -g {cli.packages[0]}@{pin} \\\n" in done.stdout
    assert f" {cli.name} --version " in done.stdout
    assert f"\nFROM {BASE}\n" in done.stdout
    assert {"bash", "git", "jq"} <= {*done.stdout.partition("--no-install-recommends")[2].split()}


def test_a_driver_or_another_name_of_the_program_is_its_cli_and_more_goes_in(tmp_path: Path) -> None:
    words = [
        "claude-code",
        "--print",
        "--base",
        "own:1",
        "--package",
        "python3",
        "--package",
        "make",
        "--tag",
        "t/x:2",
    ]
    text = command.run(["sandbox", "image", *words], cwd=tmp_path, env=os.environ).stdout
    assert "FROM own:1\n" in text
    assert "ripgrep python3 make \\\n" in text
    assert text.startswith("# Claude Code, for turns of ralph-bridge: --sandbox-image t/x:2\n")


@pytest.mark.parametrize(
    ("words", "said", "step"),
    [
        (["clade"], "clade: there is no such CLI. Did you mean claude?", "one of agy, amp, claude, "),
        (["cursor-agent"], "npm has no package of Cursor CLI", "make one by hand"),
        (["claude", "--base", "x\nRUN y"], "'x\\nRUN y' is no name of an image", "correct it"),
        (["claude", "--tag", "a b"], "'a b' is no name of an image", "correct it"),
        (["claude", "--package", "make;x"], "'make;x' is no name of a package of Debian", "correct it"),
    ],
)
def test_what_it_is_not_made_of_is_refused(words: list[str], said: str, step: str, tmp_path: Path) -> None:
    done = command.run(["sandbox", "image", "--print", *words], cwd=tmp_path, env=os.environ)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert f"next: {step}" in done.stderr


@pytest.mark.parametrize(("given", "runs"), [(["--provider", "docker"], "docker"), ([], "podman")])
def test_it_is_built_with_what_the_provider_says_as_it_says_it(
    env: dict[str, str], tmp_path: Path, given: list[str], runs: str
) -> None:
    programs = {name: client(env, name) for name in ("docker", "podman")}
    done = command.run(["sandbox", "image", "codex", *given], cwd=tmp_path, env=env)
    assert (done.returncode, done.stdout) == (0, "localhost/ralph-bridge-codex\n")
    assert done.stderr.splitlines() == [
        *("STEP 1/3: FROM x", "a warning", "last words"),
        f"  next: ralph-bridge run --sandbox {runs} --sandbox-image localhost/ralph-bridge-codex",
    ]
    words = (programs[runs].parent / f"{runs}.words").read_text().split("\0")[:-1]
    assert words[:4] == ["build", "--tag", "localhost/ralph-bridge-codex", "--file"]
    assert not os.path.exists(words[5])  # the folder that it was built in
    expected = containerfile(known_clis()["codex"], version=PINS["@openai/codex"])
    assert (programs[runs].parent / f"{runs}.text").read_text() == expected


def test_the_provider_that_boxes_are_made_with_makes_it(env: dict[str, str], tmp_path: Path) -> None:
    for name in ("docker", "podman"):
        client(env, name)
    done = command.run(["sandbox", "image", "codex"], cwd=tmp_path, env={**env, "RALPH_BRIDGE_SANDBOX": "docker"})
    assert "--sandbox docker --sandbox-image" in done.stderr


def test_a_build_that_fails_ends_with_the_providers_words(env: dict[str, str], tmp_path: Path) -> None:
    client(env, "podman")
    done = command.run(["sandbox", "image", "codex"], cwd=tmp_path, env={**env, "STATUS": "125"})
    assert (done.returncode, done.stdout) == (4, "")
    assert "podman could not make localhost/ralph-bridge-codex (status 125)\n  STEP 1/3" in done.stderr
    assert "  last words\n  next: " in done.stderr
    assert "\033" not in done.stderr


def test_without_a_provider_nothing_is_made(env: dict[str, str], tmp_path: Path) -> None:
    done = command.run(["sandbox", "image", "codex"], cwd=tmp_path, env=env)
    assert (done.returncode, done.stdout) == (4, "")
    assert "podman is not on PATH\n  next: install it (apt-get install podman), or use --print" in done.stderr


def test_names_outside_of_npm_are_said_in_python_too() -> None:
    with pytest.raises(ConfigurationError, match="npm has no package"):
        containerfile(known_clis()["cursor-agent"])


@pytest.mark.slow
def test_a_real_build_gives_an_image_whose_cli_does_a_turn(
    place_for: Callable[[Provider], Place], tmp_path: Path
) -> None:
    """Without a network: the base has an apt-get that does nothing, and an npm that brings what it is asked for."""
    place = place_for("podman")
    base, tag = f"localhost/ralph-bridge-base:{os.getpid()}", f"localhost/ralph-bridge-built:{os.getpid()}"
    npm = (
        "#!/bin/bash\n[[ $3 == @openai/codex@* ]] || exit 1\n"
        "printf '#!/bin/bash\\necho \"$3 $*\"; echo x > work.txt\\n' > /usr/bin/codex; chmod +x /usr/bin/codex\n"
    )
    programs = {"npm": npm, "apt-get": '#!/bin/bash\necho "apt-get $*"\n'}
    with image_of(place, base, programs, also=["/bin/rm", "/bin/chmod"]):
        try:
            words = ["sandbox", "image", "codex", "--provider", "podman", "--base", base, "--tag", tag]
            made = command.run(words, cwd=tmp_path, env=place.env)
            assert (made.returncode, made.stdout) == (0, f"{tag}\n"), made.stderr
            assert "apt-get install -y --no-install-recommends bash" in made.stderr
            boxed = place.wants(image=tag).box.command(["codex", "a", "b", "c"], place.env)
            with boxed.standing():
                ran = ask(boxed.argv, cwd=place.project, env=boxed.env, patience=100)
            own = "-c sandbox_mode=danger-full-access"  # it has a box of its own for what it starts, and is in one
            assert ran.text == f"a {own} a b c", ran.err
            assert (place.project / "work.txt").read_text() == "x\n"
        finally:
            subprocess.run(["podman", "rmi", "--force", tag], env=place.env, capture_output=True, check=False)


def test_the_name_of_an_image_is_that_of_its_cli() -> None:
    assert image_name(known_clis()["claude"]) == "localhost/ralph-bridge-claude"
