"""A trace of a run, and its metrics, for whoever collects such things by OTLP: see docs/telemetry.md."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from bridge.base.packages import install_command
from bridge.base.resources import likely
from bridge.errors import BridgeError, ConfigurationError
from bridge.loop.engine.observers import Observer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.observers import Observe, RunFacts
    from bridge.loop.telemetry.steps import About, Step

_IN_BOX = ("OTEL_*", "TRACEPARENT", "TRACESTATE")
CHOICES = ("otlp", "none")
_PACKAGE = "opentelemetry.exporter.otlp.proto.http"


def wanted(given: str | None, env: Mapping[str, str]) -> bool:
    """Say whether there is to be telemetry.

    Args:
        given: what is asked for; None: what the environment asks for.
        env: of this process. What stands in a project's own files counts for nothing: an agent writes them.

    Raises:
        ConfigurationError: there is no such telemetry.
    """
    if given is not None and given not in CHOICES:
        raise ConfigurationError(
            f"telemetry {given!r}: there is no such kind.{likely(given, CHOICES)}\n"
            f"  next: one of {', '.join(CHOICES)}"
        )
    if env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporters = map(str.strip, env.get("OTEL_TRACES_EXPORTER", "").split(","))
    return given == "otlp" if given is not None else "otlp" in exporters


def variables(given: str | None) -> tuple[str, ...]:
    """Name those that a box gets, too, where there is telemetry: for a CLI that sends its own."""
    return _IN_BOX if wanted(given, os.environ) else ()


def observers(
    given: str | None,
    *,
    content: bool = False,
    env: Mapping[str, str] | None = None,
    steps: Mapping[type[LoopEvent], Callable[[Any, About], Iterator[Step]]] | None = None,
) -> tuple[Observe, ...]:
    """Give what makes the telemetry of a run; nothing where there is to be none, and then nothing is imported.

    Args:
        given: see :func:`wanted`.
        content: prompts, answers and arguments of tools are sent, too.
        env: of this process; None: os.environ.
        steps: what further events mean, beside those of a loop.

    Raises:
        ConfigurationError: it is asked for, and can't be had. What the environment alone asks for, maybe for other
            programs, is a problem that the run reports.
    """
    env = os.environ if env is None else env
    if not wanted(given, env):
        if content and env.get("OTEL_SDK_DISABLED") is None:
            raise ConfigurationError(
                "--telemetry-content says what is sent, and nothing is\n  next: --telemetry otlp, or leave it out"
            )
        return ()
    problem = _problem(env)
    if problem and given is not None:
        raise ConfigurationError(f"--telemetry {given}: {problem}")
    if problem:
        return (lambda _run: _Unavailable(f"no telemetry, though OTEL_TRACES_EXPORTER asks for it: {problem}"),)
    return (partial(_observe, content=content, env=env, steps=steps or {}, asked=given is not None),)


def _problem(env: Mapping[str, str]) -> str:
    """Why it can't be had, and what to do; ''."""
    names = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    name = next((each for each in names if env.get(each)), "")
    if name and not env[name].startswith("http/"):
        return (
            f"{name}={env[name]}, and only http/protobuf is sent\n"
            "  next: OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf, with its endpoint (mostly port 4318)"
        )
    from importlib.util import find_spec

    try:
        found = find_spec(_PACKAGE) is not None
    except ImportError:
        found = False
    return "" if found else f"OpenTelemetry's SDK isn't installed\n  next: {install_command('telemetry')}"


def _observe(run: RunFacts, *, content: bool, env: Mapping[str, str], steps: Any, asked: bool) -> Observer:
    from bridge.loop.telemetry import steps as of_loop

    try:
        from bridge.loop.telemetry.trace import Tracing

        about = of_loop.About(run=run, read=partial(_text_of, run) if content else None)
        return Tracing(about, of_loop.STEPS | steps, of_loop.COUNTS, env)
    except Exception as error:
        problem = f"telemetry can't begin: {type(error).__name__}: {error}"
        if asked:
            raise ConfigurationError(f"{problem}\n  next: see the variables OTEL_*") from error
        return _Unavailable(problem)


def _text_of(run: RunFacts, prompt: str) -> str:
    from bridge.base.json_files import read_text

    try:
        return read_text(run.project / prompt) or ""
    except BridgeError:
        return ""


class _Unavailable(Observer):
    """Reports once why there is nothing."""

    def __init__(self, problem: str) -> None:
        self._problems = [problem.replace("\n  next: ", "; next: ")]

    def problems(self) -> list[str]:
        problems, self._problems = self._problems, []
        return problems
