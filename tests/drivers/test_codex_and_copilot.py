"""codex.sh and copilot.sh: argv and what is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.drivers.conftest import Drivers


def test_codex_resumes_with_a_subcommand_after_the_options(drivers: Drivers) -> None:
    command = drivers.command("codex", b"P\n", "C", "S")
    assert command == [
        b"codex",
        b"exec",
        b"--json",
        b"--sandbox",
        b"workspace-write",
        b"resume",
        b"S",
        b"C\n\nP",
    ]


def test_codex_live_command_is_the_same(drivers: Drivers) -> None:
    assert drivers.live("codex", "codex", "a b", "", "*") == [b"codex", b"a b", b"", b"*"]


def test_codex_filter_shows_messages_of_all_ages(drivers: Drivers, events: Path) -> None:
    shown = drivers.shown("codex", (events / "codex.jsonl").read_bytes())
    assert shown == "All done.\nBetween.\nOld times.\n"


def test_d17_codex_passes_an_id_that_is_no_uuid_as_it_is(drivers: Drivers) -> None:
    assert drivers.command("codex", session="my thread")[5:7] == [b"resume", b"my thread"]


def test_copilot_command(drivers: Drivers) -> None:
    assert drivers.command("copilot", b"P\n", "C", "S") == [
        *(b"copilot", b"--autopilot", b"--yolo", b"--max-autopilot-continues", b"50", b"--no-ask-user"),
        *(b"-s", b"-p", b"C\n\nP"),
    ]


def test_copilot_filter_passes_everything(drivers: Drivers) -> None:
    assert drivers.answer("copilot", "driver_stream_filter") == b".\n"
