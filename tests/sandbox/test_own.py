"""A CLI's own sandbox in a box of ours: off, since it lets no command run there, or no commit be made."""

from __future__ import annotations

import pytest

from bridge.loop.sandbox.permissions import without_own

OFF = "danger-full-access"


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        ("exec --json --sandbox workspace-write Go", f"exec --json --sandbox {OFF} Go"),
        ("exec -s read-only resume ID Go", f"exec -s {OFF} resume ID Go"),
        ("exec --sandbox=workspace-write Go", f"exec --sandbox={OFF} Go"),
        ("exec --json Go", f"-c sandbox_mode={OFF} exec --json Go"),
        ("exec -s read-only -- --sandbox read-only", f"exec -s {OFF} -- --sandbox read-only"),
    ],
)
def test_what_codex_is_told_of_its_sandbox_is_that_there_is_none(given: str, becomes: str) -> None:
    assert without_own("/opt/bin/codex", given.split()) == becomes.split()


def test_programs_without_one_are_told_what_they_were() -> None:
    for program in ("claude", "make"):
        assert without_own(program, ["--sandbox", "x"]) == ["--sandbox", "x"]
