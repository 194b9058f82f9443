"""Whether there is telemetry: who may ask for it, and what comes of it where it can't be had."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bridge import ConfigurationError, Loop
from bridge.loop.telemetry import observers, wanted

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import MakeProject
    from tests.telemetry.receiver import Receiver

ON = {"OTEL_TRACES_EXPORTER": "otlp"}


@pytest.mark.parametrize(
    ("given", "env", "expected"),
    [
        (None, {}, False),
        ("otlp", {}, True),
        (None, ON, True),
        (None, {"OTEL_TRACES_EXPORTER": "console, otlp"}, True),
        (None, {"OTEL_TRACES_EXPORTER": "none"}, False),
        ("none", ON, False),
        ("otlp", {"OTEL_TRACES_EXPORTER": "none"}, True),
        ("otlp", {"OTEL_SDK_DISABLED": "true"}, False),
        (None, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, False),
    ],
)
def test_an_option_beats_the_environment_and_an_endpoint_alone_asks_for_nothing(
    given: str | None, env: dict[str, str], expected: bool
) -> None:
    assert wanted(given, env) is expected
    assert bool(observers(given, env=env)) is expected


def test_another_kind_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigurationError, match=r"'otpl'.* Did you mean otlp\?\n  next: one of otlp, none"):
        wanted("otpl", {})


def test_content_without_telemetry_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="next: --telemetry otlp, or leave it out"):
        observers(None, content=True, env={})
    assert observers("otlp", content=True, env={"OTEL_SDK_DISABLED": "true"}) == ()


def test_a_protocol_that_isn_t_sent_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"OTEL_EXPORTER_OTLP_PROTOCOL=grpc, and only http/protobuf"):
        observers("otlp", env={"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    env = {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}
    assert len(observers("otlp", env=env)) == 1


def test_a_run_without_it_imports_nothing_of_it_and_sends_nothing(
    make_project: MakeProject, receiver: Receiver
) -> None:
    project = make_project("plain")
    code = (
        "import sys; from bridge.cli import main\ntry: main()\nfinally:"
        " print(sorted(each for each in sys.modules if 'opentelemetry' in each or each == 'requests'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *project.example.words, "--telemetry", "none"],
        cwd=project.path,
        env=project.environment(**ON, **receiver.env),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == "[]", done
    assert receiver.got == []


@pytest.fixture
def without_sdk(tmp_path: Path) -> dict[str, str]:
    """An environment in which OpenTelemetry has nothing that sends."""
    (tmp_path / "shadow/opentelemetry").mkdir(parents=True)
    (tmp_path / "shadow/opentelemetry/__init__.py").touch()
    return {"PYTHONPATH": str(tmp_path / "shadow")}


def test_without_the_sdk_the_option_is_refused_before_anything_runs(
    make_project: MakeProject, without_sdk: dict[str, str]
) -> None:
    project = make_project("plain")
    project.env |= without_sdk
    loop = project.start("--telemetry", "otlp")
    assert loop.finished() == 2
    assert re.search(r"next: .*pip install .*opentelemetry-sdk", loop.said)
    assert project.begun() == 0


def test_without_the_sdk_the_environment_s_wish_is_no_reason_not_to_run(
    make_project: MakeProject, without_sdk: dict[str, str]
) -> None:
    project = make_project("plain")
    project.env |= without_sdk | ON
    loop = project.start()
    assert loop.finished() == 0
    assert loop.said.count("pip install") == 1


@pytest.mark.slow
def test_a_setting_of_the_sdk_that_makes_no_sense_is_named(make_project: MakeProject) -> None:
    project = make_project("plain")
    loop = project.start("--telemetry", "otlp", OTEL_BSP_SCHEDULE_DELAY="0")
    assert loop.finished() == 2
    assert "telemetry can't begin" in loop.said
    assert "next: see the variables OTEL_*" in loop.said
    assert project.begun() == 0


def test_what_a_program_asks_for(
    make_project: MakeProject, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    from opentelemetry.sdk.trace import TracerProvider

    project = make_project("plain")
    for name, value in (project.environment() | receiver.env).items():
        monkeypatch.setenv(name, value)
    with (
        TracerProvider(shutdown_on_exit=False).get_tracer("mine").start_as_current_span("mine") as around,
        Loop.open(project.path, driver="claude-code", live=False, telemetry="otlp") as loop,
    ):
        for _event in loop:
            pass
    assert receiver.span("invoke_workflow project").parent == f"{around.get_span_context().span_id:016x}"
