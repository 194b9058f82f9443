"""Functions of the loop that drivers call: ``log_status`` and its like, with a loop and without one."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from bridge import Driver

if TYPE_CHECKING:
    from pathlib import Path


LOGGING = """
set -u
log_status DEBUG "sourced"
driver_name() { log_status INFO "in a subshell"; echo mine; }
driver_display_name() { echo Mine; }
driver_cli_binary() { echo my-cli; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Read); }
driver_build_command() {
    log_status WARN "it's \\$HOME, %s and \\`id\\`
on two lines"
    log_status
    log_status NOTE "$(portable_timeout 5 echo ends)"
    CLAUDE_CMD_ARGS=("$(get_iso_timestamp)" "$(get_epoch_seconds)")
}
"""


def test_c3_log_status_of_a_driver_appends_to_the_loop_s_log(bash: str, tmp_path: Path) -> None:
    script = tmp_path / "mine.sh"
    script.write_text(LOGGING)
    log = tmp_path / "it's a folder" / "ralph.log"
    with Driver.load(script, bash=bash, log=log) as driver:
        driver.name()
        iso, epoch = driver.build_command("P")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", iso)
    assert epoch.isdecimal()
    lines = [re.sub(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] ", "", line) for line in log.read_text().splitlines()]
    assert lines == [
        "[DEBUG] sourced",
        "[INFO] in a subshell",
        "[WARN] it's $HOME, %s and `id` on two lines",
        "[INFO] ",
        "[NOTE] ends",
    ]


def test_c3_without_a_loop_it_goes_to_stderr_and_breaks_nothing(bash: str, tmp_path: Path) -> None:
    script = tmp_path / "mine.sh"
    script.write_text(LOGGING)
    env = os.environ | {"PATH": "/nowhere"}
    with Driver.load(script, bash=bash, env=env) as driver:
        reply = driver.shell.call("driver_name")
        assert (reply.stdout, reply.stderr.endswith("] [INFO] in a subshell\n")) == ("mine\n", True)
        assert not driver.is_own("log_status")
    assert os.listdir(tmp_path) == ["mine.sh"]


def test_c3_a_log_that_cannot_be_written_ends_no_driver(bash: str, tmp_path: Path) -> None:
    script = tmp_path / "mine.sh"
    script.write_text("set -e\n" + LOGGING)
    (tmp_path / "file").write_text("")
    with Driver.load(script, bash=bash, log=tmp_path / "file" / "ralph.log") as driver:
        assert driver.name() == "mine"


def test_c3_a_command_that_fails_within_its_time_ends_no_driver(bash: str, tmp_path: Path) -> None:
    script = tmp_path / "mine.sh"
    script.write_text("set -e\nportable_timeout 5 false || WHY=$?\n" + LOGGING)
    with Driver.load(script, bash=bash, log=tmp_path / "ralph.log") as driver:
        assert (driver.name(), driver.shell["WHY"]) == ("mine", "1")


def test_c3_a_driver_s_own_log_status_wins(bash: str, tmp_path: Path) -> None:
    script = tmp_path / "mine.sh"
    script.write_text('log_status() { echo "own $*" >&2; }\n' + LOGGING.replace("log_status DEBUG", ": DEBUG"))
    with Driver.load(script, bash=bash, log=tmp_path / "ralph.log") as driver:
        assert driver.shell.call("driver_name").stderr == "own INFO in a subshell\n"
    assert not (tmp_path / "ralph.log").exists()
