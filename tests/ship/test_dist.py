"""What is published: built twice, opened, and used from an empty folder in an environment of its own."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import NamedTuple

import pytest

from bridge import __version__
from tests.command import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PATIENCE = 300.0
SHIPPED = ("agents/", "drivers/", "features/", "vendor/package.json")
MADE = os.environ.get("RALPH_BRIDGE_DIST")
"""What ``make dist`` has built; it is tried with each Python here, and in other runs with this one."""


def pythons() -> list[str]:
    """Each Python here that we run on, by its version: on PATH, or one of pyenv's."""
    places = [*os.environ["PATH"].split(":"), *map(str, Path.home().glob(".pyenv/versions/*/bin"))]
    found: dict[str, str] = {}
    for name in (f"python3.{minor}" for minor in range(11, 20)):
        for place in places:
            command = [f"{place}/{name}", "-c", "import ensurepip, sys; print(sys.version_info >= (3, 11))"]
            if name not in found and os.access(command[0], os.X_OK):
                done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
                found |= {name: command[0]} if done.stdout == b"True\n" else {}
    return list(found.values())


PYTHONS = pythons() if MADE else [sys.executable]


class Dist(NamedTuple):
    """What a build makes."""

    wheel: Path
    sdist: Path


def build(folder: Path, source: Path = ROOT) -> Dist:
    """Build both with the backend of the lock file; the wheel is made from the sdist."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return dist_in(folder)


def dist_in(folder: Path) -> Dist:
    """The one wheel and the one sdist in a folder."""
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Dist(wheel, sdist)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Dist:
    """That of ``make dist``, or one of its own."""
    return dist_in(Path(MADE)) if MADE else build(tmp_path_factory.mktemp("dist"))


def known_to_git(*paths: str) -> set[str]:
    """Files that are committed, or will be."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *paths]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=True)
    return {line for line in done.stdout.splitlines() if (ROOT / line).exists()}


def test_two_builds_are_the_same(dist: Dist, tmp_path: Path) -> None:
    again = build(tmp_path)
    for one, other in zip(dist, again, strict=True):
        assert one.name == other.name
        assert hashlib.sha256(one.read_bytes()).digest() == hashlib.sha256(other.read_bytes()).digest(), one.name


def test_the_wheel_holds_the_package_and_what_it_reads(dist: Dist) -> None:
    with zipfile.ZipFile(dist.wheel) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        [metadata] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        about = Parser().parsestr(wheel.read(metadata).decode())
    shipped = {f"bridge/_shipped/{name}" for name in known_to_git(*SHIPPED)}
    assert names == known_to_git("bridge", "ralph_bridge_pytest.py") | shipped
    assert (about["Name"], about["Version"], about["Requires-Python"]) == ("ralph-bridge", __version__, ">=3.11")
    assert about["License-Expression"] == "GPL-3.0-or-later"
    assert {"features", "report", "notify"} <= set(about.get_all("Provides-Extra", []))


def test_the_sdist_holds_what_the_wheel_is_made_of(dist: Dist) -> None:
    with tarfile.open(dist.sdist) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    wanted = known_to_git(
        "bridge", "ralph_bridge_pytest.py", "docs", *SHIPPED, "*.md", "LICENSE", "pyproject.toml", ".gitignore"
    )
    meant = {name for name in wanted if "/" not in name or not name.startswith((".", "tests/", "vendor/README"))}
    assert names - meant == {"PKG-INFO"}
    assert {name for name in meant - names if not name.endswith(".md")} == set()
    assert not any(name.startswith(("tests/", "benchmarks/", ".ci")) for name in names)


# -- in an empty environment ----------------------------------------------------------------------------------

DRIVER = """\
driver_name() { echo "mine"; }
driver_display_name() { echo "Mine"; }
driver_cli_binary() { echo "mine"; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("Read" "Write" "Bash"); }
driver_build_command() {
    [[ -f "$1" ]] || { echo "no prompt: $1" >&2; return 1; }
    CLAUDE_CMD_ARGS=("mine" "--prompt-file" "$1")
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$3" ]]; then CLAUDE_CMD_ARGS+=("--resume" "$3"); fi
    if [[ -n "$2" ]]; then CLAUDE_CMD_ARGS+=("--context" "$2"); fi
}
"""
IMPORTS = """\
import importlib, pkgutil, sys, bridge
assert "site-packages" in bridge.__file__, bridge.__file__
for module in pkgutil.walk_packages(bridge.__path__, "bridge."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            print(module.name, error.name)
"""
OF_EXTRAS = {
    "pytest",
    "pytest_bdd",
    "jinja2",
    "pygal",
    "apprise",
    "dask",
    "distributed",
    "requests",
    "opentelemetry",
}


def install(programs: Path, *what: str | Path) -> None:
    """Install, in the versions of the lock file; its hashes would refuse a wheel from a folder."""
    lock = programs / "constraints.txt"
    lines = (ROOT / "requirements-dev.lock").read_text().splitlines()
    lock.write_text("\n".join(line.rstrip("\\ ") for line in lines if "==" in line and not line.startswith(" ")))
    command = [programs / "python", "-m", "pip", "install", "--disable-pip-version-check", "-c", lock, *what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr


class User:
    """Somebody with an empty home, in an empty folder, with ralph-bridge on PATH."""

    def __init__(self, programs: Path, place: Path) -> None:
        self.folder = place / "folder"
        self.folder.mkdir()
        (place / "home").mkdir()
        path = f"{programs}:{os.environ['PATH']}"
        self._env = {"HOME": str(place / "home"), "PATH": path, "LANG": "C.UTF-8", "COLUMNS": "80"}

    def program(self, *words: str, stdin: str = "") -> str:
        """Run it to its good end, and give what it prints."""
        done = subprocess.run(
            words,
            cwd=self.folder,
            env=self._env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def bridge(self, *words: str, stdin: str = "") -> str:
        """Run ralph-bridge."""
        return self.program("ralph-bridge", *words, stdin=stdin)


@pytest.mark.parametrize("python", PYTHONS, ids=[Path(path).name for path in PYTHONS])
def test_in_an_empty_environment(python: str, dist: Dist, tmp_path: Path) -> None:
    subprocess.run([python, "-m", "venv", tmp_path / "venv"], timeout=PATIENCE, check=True)
    programs = tmp_path / "venv" / "bin"
    install(programs, dist.wheel)
    user = User(programs, tmp_path)
    _modules_and_commands(user)
    _from_an_empty_folder(user)
    install(programs, f"{dist.wheel}[features,report]")
    assert "0 errors" in user.bridge("verify", "--features", "mine.sh", "fresh", "young")
    assert "<html" in user.bridge("report", "--project", "demo/project", "--format", "html")


def _modules_and_commands(user: User) -> None:
    lines = user.program("python", "-P", "-c", IMPORTS).splitlines()
    assert {line.split()[1].split(".")[0] for line in lines} <= OF_EXTRAS, lines
    names = user.program("python", "-P", "-c", "from bridge.cli.app import COMMANDS; print(*COMMANDS)").split()
    assert len(names) > 20
    for name in names:
        assert user.bridge(name, "--help").startswith("Usage: ralph-bridge")


def _from_an_empty_folder(user: User) -> None:
    assert user.program("python", "-m", "bridge", "--version") == user.bridge("--version")
    assert user.bridge("--version").split() == ["ralph-bridge", __version__]
    assert "4 of 4 tasks ticked" in user.bridge("demo", "--dir", "demo")
    (user.folder / "mine.sh").write_text(DRIVER)
    assert "1 script meets the contract" in user.bridge("verify", "mine.sh")
    assert "RB110" in user.bridge("explain", "RB110")
    (user.folder / "PROMPT.md").write_text("Do it.\n")
    assert user.bridge("command", "codex", "PROMPT.md").startswith("codex exec")
    assert "codex exec" in user.bridge("run", "--driver", "codex", "--dry-run")
    assert "claude" in user.bridge("inspect", "agent:claude")
    assert "bash" in user.bridge("adapter", "list")
    assert "3" in user.bridge("adapter", "exec", "bash", "echo $((1 + 2))")
    user.bridge("stop-hook", stdin="{}")
    for kind, name in (("driver", "fresh"), ("agent", "young")):
        user.bridge("new", kind, name)
        assert "1 script meets the contract" in user.bridge("verify", name)
        assert name in user.bridge(f"{kind}s")
    assert "CLAUDE_CMD_ARGS" in user.bridge("explain", "driver_build_command")
    assert "complete" in user.bridge("completion", "bash")
