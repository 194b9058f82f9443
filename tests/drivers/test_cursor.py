"""cursor.sh: argv, finding the program, Windows, the wrapper."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.drivers.conftest import Drivers

FOLDER = Path(__file__).parents[2] / "drivers"
ARGUMENTS = [b"-p", b"--force", b"--output-format", b"json"]
SYSTEM = "/usr/bin:/bin"


def cmd_file(folder: Path, name: str = "cursor-agent.cmd", *, executable: bool = False) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 7\n")
    path.chmod(0o755 if executable else 0o644)
    return path


def test_command(drivers: Drivers) -> None:
    command = drivers.command("cursor", b"P\n", "C", "S")
    assert command == [b"cursor-agent", *ARGUMENTS, b"--resume", b"S", b"C\n\nP"]


def test_format_setting_has_no_effect(drivers: Drivers) -> None:
    assert drivers.command("cursor", b"P", CLAUDE_OUTPUT_FORMAT="text")[1:5] == ARGUMENTS


@pytest.mark.parametrize("word", ["json", "--output-format"])
def test_live_transform(drivers: Drivers, word: str) -> None:
    live = drivers.live("cursor", "cursor-agent", "--output-format", "json", "--resume", word, "json")
    assert live == [b"cursor-agent", b"--output-format", b"stream-json", b"--resume", word.encode(), b"json"]


def test_filter_shows_each_call_once_by_its_name(drivers: Drivers, events: Path) -> None:
    shown = drivers.shown("cursor", (events / "cursor.jsonl").read_bytes())
    assert shown == "Reading.\n\n⚡ [read]\n\n⚡ [lookup]\n\n⚡ [older_tool]\n"


def test_binary_is_searched_by_four_names(drivers: Drivers) -> None:
    assert drivers.answer("cursor", "driver_cli_binary") == b"cursor-agent\n"
    for name in ("agent.cmd", "agent", "cursor-agent.cmd", "cursor-agent"):
        path = drivers.program(name, ":")
        assert drivers.answer("cursor", "driver_cli_binary") == f"{path}\n".encode()
        assert drivers.answer("cursor", "driver_check_available") == b""


@pytest.mark.parametrize(
    ("settings", "windows"),
    [
        ({}, False),
        ({"OS": "Windows_NT"}, True),
        ({"OSTYPE": "msys"}, True),
        ({"OSTYPE": "cygwin"}, True),
        ({"OSTYPE": "win32"}, True),
        ({"OS": "Linux", "OSTYPE": "linux-gnu"}, False),
    ],
)
def test_windows_is_recognised(drivers: Drivers, settings: dict[str, str], *, windows: bool) -> None:
    # bash itself sets OSTYPE only if the environment doesn't
    done = drivers.run("cursor", "driver_running_on_windows", settings=settings)
    assert (done.returncode == 0) is windows


@pytest.mark.parametrize(
    "path", ["{0}:/usr/bin", "/usr/bin:{0}", "{0};C:\\other;D:\\x", 'C:\\other;"{1}"', "::{0}/:"]
)
def test_windows_path_is_scanned_by_hand(drivers: Drivers, path: str) -> None:
    folder = drivers.folder / "dir with blanks"
    found = cmd_file(folder)
    scanned = path.format(folder, str(folder).replace("/", "\\"))
    snippet = "PATH=$1; driver_find_windows_path_candidate cursor-agent.cmd"
    assert drivers.answer("cursor", snippet, scanned) == f"{found}\n".encode()
    missing = drivers.run("cursor", "PATH=$1; driver_find_windows_path_candidate agent.cmd", scanned)
    assert (missing.returncode, missing.stdout) == (1, b"")


def test_windows_drive_colon_does_not_split(drivers: Drivers) -> None:
    cmd_file(drivers.folder / "C:" / "dirs")
    for path in ("/usr/bin:C:\\dirs:/bin", "C:\\dirs", "C:/dirs:/usr/bin"):
        snippet = "PATH=$1; driver_find_windows_path_candidate cursor-agent.cmd"
        assert drivers.answer("cursor", snippet, path) == b"C:/dirs/cursor-agent.cmd\n"


def test_windows_local_app_data(drivers: Drivers) -> None:
    found = cmd_file(drivers.folder / "Local" / "cursor-agent")
    settings = {"OS": "Windows_NT", "LOCALAPPDATA": str(drivers.folder / "Local").replace("/", "\\")}
    assert drivers.answer("cursor", "driver_cli_binary", **settings) == f"{found}\n".encode()
    assert drivers.answer("cursor", "driver_check_available", **settings) == b""
    drivers.program("cygpath", f'[ "$*" = "-u C:\\Users" ] && echo "{drivers.folder}/Local"')
    settings["LOCALAPPDATA"] = "C:\\Users"
    assert drivers.answer("cursor", "driver_cli_binary", **settings) == f"{found}\n".encode()
    assert (
        drivers.answer("cursor", "driver_cli_binary", LOCALAPPDATA=settings["LOCALAPPDATA"])
        == b"cursor-agent\n"
    )


def test_windows_command_is_short_and_goes_through_the_wrapper(drivers: Drivers) -> None:
    found = cmd_file(drivers.folder / "Local" / "cursor-agent")
    settings = {"OS": "Windows_NT", "LOCALAPPDATA": str(drivers.folder / "Local")}
    command = drivers.command("cursor", b"long " * 20_000, "Loop #1.\nNext: x. ", "S", **settings)
    wrapper, prompt = FOLDER / "cursor-agent-wrapper.sh", command[-1].decode()
    assert command[:-1] == [str(wrapper).encode(), str(found).encode(), *ARGUMENTS, b"--resume", b"S"]
    assert prompt.startswith("Loop #1. Next: x. ")
    assert str(drivers.folder / "PROMPT.md") in prompt
    for name in ("PROJECT_CONTEXT.md", "SPECS_INDEX.md", "@fix_plan.md", "@AGENT.md", "specs/"):
        assert f".ralph/{name}" in prompt
    assert len(prompt) < 1000
    assert "\n" not in prompt


def test_wrapper_lies_beside_a_driver_that_was_sourced_by_a_relative_path(drivers: Drivers) -> None:
    cmd_file(drivers.bin, executable=True)
    installed = drivers.folder / ".ralph" / "drivers"
    shutil.copytree(FOLDER, installed)
    path = drivers.prompt(b"P")
    for relative, cwd in ((Path(".ralph/drivers"), "."), (Path(), ".ralph/drivers")):
        command = drivers.array(
            "cursor", 'driver_build_command "$1"', path, drivers=relative, options=f"set -e; cd {cwd}"
        )
        assert Path(command[0].decode()).samefile(installed / "cursor-agent-wrapper.sh")


def test_wrapper_passes_arguments_and_status_on(drivers: Drivers) -> None:
    agent = cmd_file(drivers.folder / "a b", executable=True)
    wrapper = FOLDER / "cursor-agent-wrapper.sh"
    done = subprocess.run(
        [wrapper, agent, "-p", "two words\n*", ""], capture_output=True, check=False, timeout=30
    )
    assert (done.stdout, done.returncode) == (b"<-p><two words\n*><>", 7)


def test_wrapper_asks_cmd_exe_for_a_file_that_bash_would_not_start(drivers: Drivers) -> None:
    drivers.program("cmd.exe", "printf '<%s>' \"$@\"")
    agent = cmd_file(drivers.folder)
    done = subprocess.run(
        [FOLDER / "cursor-agent-wrapper.sh", agent, "x"],
        env={"PATH": f"{drivers.bin}:{SYSTEM}"},
        capture_output=True,
        check=False,
        timeout=30,
    )
    assert done.stdout == f"<//d><//c><{agent}><x>".encode()


@pytest.mark.parametrize(("arguments", "status"), [([], 2), (["/nowhere.cmd"], 127)])
def test_wrapper_says_what_is_missing(arguments: list[str], status: int) -> None:
    done = subprocess.run(
        [FOLDER / "cursor-agent-wrapper.sh", *arguments], capture_output=True, check=False, timeout=30
    )
    assert (done.returncode, done.stdout) == (status, b"")
    assert done.stderr
