"""The options of ``ralph_loop.sh`` (section 1.1)."""

from __future__ import annotations

import pytest

from bridge.loop.setups.bmalph.flags import USAGE, parse
from bridge.loop.setups.declared_settings import GivenOption


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        (["-c", "5"], {"max_calls_per_hour": GivenOption("-c", "5")}),
        (["--calls", "abc"], {"max_calls_per_hour": GivenOption("--calls", "abc")}),  # settings refuse it
        (["-p", "a b"], {"prompt_file": GivenOption("-p", "a b")}),
        (["-v"], {"verbose": GivenOption("-v", "true")}),
        (["-t", "120"], {"timeout_minutes": GivenOption("-t", "120")}),
        (["--auto-reset-circuit"], {"cb_auto_reset": GivenOption("--auto-reset-circuit", "true")}),
        (["--output-format", "text"], {"output_format": GivenOption("--output-format", "text")}),
        (["--allowed-tools", "--live"], {"allowed_tools": GivenOption("--allowed-tools", "--live")}),
        (["--no-continue"], {"session_continuity": GivenOption("--no-continue", "false")}),
        (["--session-expiry", "48"], {"session_expiry_hours": GivenOption("--session-expiry", "48")}),
        (["-t", "5", "-t", "6"], {"timeout_minutes": GivenOption("-t", "6")}),
        ([], {}),
    ],
)
def test_options(words: list[str], fields: dict[str, GivenOption]) -> None:
    plan = parse(words)
    assert (plan.action, plan.options) == ("run", fields)


def test_c7_limits() -> None:
    plan = parse(["--max-minutes", "0.5", "-v", "--max-iterations", "20", "--max-minutes", "90"])
    options = plan.run_options()
    assert (plan.action, options.max_iterations, options.max_minutes) == ("run", 20, 90.0)
    assert plan.options == {"verbose": GivenOption("-v", "true")}
    options = parse([]).run_options()
    assert (options.max_iterations, options.max_minutes) == (None, None)


def test_live_and_monitor() -> None:
    assert parse(["--live"]).flags == {"live"}
    assert parse(["-m", "-l"]).flags == {"monitor", "live"}
    assert not parse([]).flags


@pytest.mark.parametrize(
    ("words", "action"),
    [
        (["-h"], "help"),
        (["--help", "--timeout", "0"], "help"),
        (["-s", "--nonsense"], "status"),
        (["--circuit-status"], "circuit-status"),
        (["-c", "x", "--reset-circuit"], "reset-circuit"),
        (["--reset-session", "--help"], "reset-session"),
        (["--status", "--help"], "status"),
    ],
)
def test_what_is_done_at_once_hides_what_comes_behind(words: list[str], action: str) -> None:
    assert parse(words).action == action


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--timeout", "0", "--help"], "1 to 120"),
        (["-t", "121"], "1 to 120"),
        (["-t", "015"], "1 to 120"),
        (["-t", "5m"], "1 to 120"),
        (["--output-format", "xml"], "json or text"),
        (["--session-expiry", "0"], "at least 1"),
        (["--session-expiry", "-1"], "at least 1"),
        (["--max-iterations", "0"], "at least 1"),
        (["--max-iterations", "-1"], "at least 1"),
        (["--max-iterations", "1.5"], "at least 1"),
        (["--max-iterations", ""], "at least 1"),
        (["--max-minutes", "0"], "more than 0"),
        (["--max-minutes", "0.0"], "more than 0"),
        (["--max-minutes", "-5"], "more than 0"),
        (["--max-minutes", "nan"], "more than 0"),
        (["--max-minutes", "1e9"], "more than 0"),
        (["--max-iterations=0"], "at least 1"),
        (["--calls=5"], "Unknown option: --calls=5"),
        (["-lv"], "Unknown option: -lv"),
        (["build"], "Unknown option: build"),
        (["-p", ""], "a file"),
        ([""], "Unknown option"),
    ],
)
def test_what_is_wrong(words: list[str], said: str) -> None:
    plan = parse(words)
    assert plan.action == ("unknown" if said.startswith("Unknown") else "error")
    assert said in plan.message


@pytest.mark.parametrize(
    "option",
    [
        "-c",
        "--calls",
        "-p",
        "--prompt",
        "-t",
        "--timeout",
        "--output-format",
        "--allowed-tools",
        "--session-expiry",
        "--max-iterations",
        "--max-minutes",
    ],
)
def test_t26_a_missing_value_is_an_error(option: str) -> None:
    plan = parse(["--live", option])
    assert (plan.action, plan.options) == ("error", {})
    assert f"{option} needs a value" in plan.message


def test_the_usage_names_every_option() -> None:
    for option in ("--calls", "--monitor", "--auto-reset-circuit", "--session-expiry", "--no-continue", "-h", "-t",
                   "--max-iterations", "--max-minutes"):  # fmt: skip
        assert option in USAGE
