"""Spans and metrics of a run, by OpenTelemetry's SDK. Imported when there is telemetry, and only then."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

import requests
from opentelemetry import trace
from opentelemetry.context import get_current
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import Link, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from bridge._version import __version__
from bridge.base.process.secrets import shown_address
from bridge.base.wording import plural
from bridge.loop.engine.events import IterationStarted
from bridge.loop.engine.observers import Observer
from bridge.loop.telemetry.steps import CONTENT, METRICS, OF_TURN, TOOL, About, cli_of, tool_steps
from bridge.loop.turn.progress import may_name_tool
from bridge.loop.turn.progress import tool_steps as said_of_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Span

    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.telemetry.steps import Count, Step

_PATIENCE = 5.0
"""Seconds that the end of a run waits for what is still to be sent."""
_LOST_PATIENCE = 1.0
"""The same where nobody has taken what was sent last."""
_SOON = 500.0
"""Milliseconds after which a span that has ended is sent: whoever is killed meanwhile has lost no more."""
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_MOST_CALLS = 1000
_LONGEST, _LONGEST_CONTENT = 256, 64 * 1024
_W3C = TraceContextTextMapPropagator()


class Tracing(Observer):
    """The spans and metrics of one run.

    Args:
        about: the run.
        steps, counts: what events mean, by their class.
        env: of this process, with the trace that the run is a part of.
    """

    def __init__(
        self,
        about: About,
        steps: Mapping[type[LoopEvent], Callable[[Any, About], Iterator[Step]]],
        counts: Mapping[type[LoopEvent], Callable[[Any, About], Iterator[Count]]],
        env: Mapping[str, str],
    ) -> None:
        self._about, self._steps, self._counts = about, steps, counts
        self._around = _around(env)
        self._stale = "TRACESTATE" in env
        self._sender = _Sender(env)
        self._spans: dict[str, tuple[Span, str]] = {}  # with the key of its parent
        self._lock = threading.RLock()
        self._shared: dict[str, dict[str, Any]] = {}
        self._calls = 0
        self._wrong = ""
        self._closed = False

    def take(self, event: LoopEvent) -> None:
        kind = type(event)
        if self._closed or (kind not in self._steps and kind not in self._counts):
            return
        try:
            if isinstance(event, IterationStarted):
                self._calls = 0
                self._about = About(run=self._about.run, read=self._about.read, cli=cli_of(event))
            if kind in self._steps:
                self._do(self._steps[kind](event, self._about))
            if kind in self._counts:
                for count in self._counts[kind](event, self._about):
                    shared = self._shared.get(count.key, {})
                    self._sender.count(count.metric, count.value, _clean({**shared, **count.attributes}))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no matter of the loop's
            self._wrong = type(error).__name__

    def line(self, data: bytes) -> None:
        if self._closed or not may_name_tool(data):
            return
        try:
            for said in said_of_tools(data):
                begun = TOOL + said.call in self._spans
                self._calls += not begun
                if begun or self._calls <= _MOST_CALLS:
                    self._do(tool_steps(said, begun=begun, about=self._about))
        except Exception as error:  # noqa: BLE001 - likewise
            self._wrong = type(error).__name__

    def variables(self) -> dict[str, str]:
        """The variables by which a program's spans become children of what is under way."""
        with self._lock:
            span = next((self._spans[key][0] for key in reversed(self._spans) if not key.startswith(TOOL)), None)
        if span is None:
            return {}
        context = span.get_span_context()
        # Of the flags the first alone: some readers refuse a version 00 that has others.
        parent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags & 1:02x}"
        state = context.trace_state.to_header()
        return {"TRACEPARENT": parent} | ({"TRACESTATE": state} if state or self._stale else {})

    def problems(self) -> Iterator[str]:
        if self._closed:
            yield from self._sender.problems(self._wrong)

    def close(self) -> None:
        if not self._closed:
            self._end("run", "interrupted", None)  # it is open where an error has come between
            self._closed = True
            self._sender.close()

    # -- spans -----------------------------------------------------------------------------------------

    def _do(self, steps: Iterator[Step]) -> None:
        with self._lock:
            for step in steps:
                if step.do == "begin":
                    self._begin(step)
                elif step.key in self._spans:
                    span, _ = self._spans[step.key]
                    if step.do == "note":
                        span.add_event(step.name, _clean(step.attributes))
                    else:
                        span.set_attributes(_clean(step.attributes))
                    if step.error:
                        _fail(span, step.error)
                    if step.do == "end":
                        self._end(step.key, "", step.at)

    def _begin(self, step: Step) -> None:
        self._end(step.key, "_OTHER", None)
        parent, _ = self._spans.get(step.parent, (None, ""))
        links = [] if step.parent else [*_links(self._about.run.before)]
        attributes = _clean(step.attributes)
        span = self._sender.tracer.start_span(
            _text(step.name, _LONGEST),
            self._around if parent is None else trace.set_span_in_context(parent),
            kind=SpanKind.CLIENT if step.remote else SpanKind.INTERNAL,
            attributes=attributes,
            links=links,
            start_time=_ns(step.at),
        )
        self._spans[step.key] = span, step.parent
        if step.remote:
            self._shared[step.key] = {name: attributes[name] for name in OF_TURN if name in attributes}
        if not step.parent:
            self._about.run.traced(self.variables()["TRACEPARENT"])

    def _end(self, key: str, error: str, at: float | None) -> None:
        """End a span, and first those of its children that are still open."""
        if key not in self._spans:
            return
        for child in [each for each, (_, parent) in self._spans.items() if parent == key]:
            self._end(child, error, at)
        span, _ = self._spans.pop(key)
        if error:
            _fail(span, error)
        span.end(_ns(at))
        self._sender.ended += span.get_span_context().trace_flags.sampled


def _around(env: Mapping[str, str]) -> Context:
    """What a run is a part of: the span that this program is in, or that of whoever has started it."""
    if trace.get_current_span().get_span_context().is_valid:
        return get_current()
    names = ("traceparent", "tracestate")
    found: Context = _W3C.extract({name: value for name in names if (value := env.get(name.upper()))})
    return found


def _fail(span: Span, error: str) -> None:
    span.set_attribute("error.type", error)
    span.set_status(Status(StatusCode.ERROR))


def _links(before: str) -> Iterator[Link]:
    """The run that this one goes on with, if its record has a trace that makes sense."""
    context = trace.get_current_span(_W3C.extract({"traceparent": before})).get_span_context()
    if context.is_valid:
        yield Link(context, {"ralph_bridge.link": "continues"})


def _ns(at: float | None) -> int | None:
    return None if at is None else int(at * 1e9)


def _clean(attributes: Mapping[str, object]) -> dict[str, Any]:
    """Attributes as the wire can have them: no None, no half of a surrogate pair, nothing endless."""
    return {
        name: _text(value, _LONGEST_CONTENT if name in CONTENT else _LONGEST) if isinstance(value, str) else value
        for name, value in attributes.items()
        if value is not None
    }


def _text(value: str, most: int) -> str:
    return value[:most].encode("utf-8", "replace").decode()


# -- what is sent ------------------------------------------------------------------------------------


class _Session(requests.Session):
    """Remembers what became of the last request: exporters only log it."""

    failure = ""

    def request(self, *args: Any, **more: Any) -> requests.Response:
        try:
            reply = super().request(*args, **more)
        except Exception as error:
            self.failure = type(error).__name__
            raise
        self.failure = "" if reply.ok else f"HTTP {reply.status_code}"
        return reply


class _Spans(OTLPSpanExporter):
    delivered = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        if result is SpanExportResult.SUCCESS:
            self.delivered += len(spans)
        return result


def _instruments(meters: MeterProvider) -> Iterator[tuple[str, Callable[[float, dict[str, Any]], None]]]:
    meter = meters.get_meter("ralph-bridge", __version__)
    for name, (unit, description, bounds) in METRICS.items():
        if bounds:
            histogram = meter.create_histogram(name, unit, description, explicit_bucket_boundaries_advisory=bounds)
            yield name, histogram.record
        else:
            yield name, meter.create_counter(name, unit, description).add


class _Sender:
    """Sends from threads of its own; what can't be sent is dropped, and told of at the end."""

    def __init__(self, env: Mapping[str, str]) -> None:
        for name in ("opentelemetry", "urllib3"):  # else what they log goes to stderr
            logging.getLogger(name).addHandler(logging.NullHandler())
        own = {"service.version": __version__}
        if not env.get("OTEL_SERVICE_NAME") and "service.name=" not in env.get("OTEL_RESOURCE_ATTRIBUTES", ""):
            own["service.name"] = "ralph-bridge"
        resource = Resource.create(own)
        self._session, self.ended = _Session(), 0
        self._address = next((env[each] for each in _ENDPOINTS if env.get(each)), "http://localhost:4318")
        self._spans = _Spans(session=self._session)
        delay = None if env.get("OTEL_BSP_SCHEDULE_DELAY") else _SOON
        self._tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._tracers.add_span_processor(BatchSpanProcessor(self._spans, schedule_delay_millis=delay))
        self.tracer = self._tracers.get_tracer("ralph-bridge", __version__)
        self._meters: MeterProvider | None = None
        if env.get("OTEL_METRICS_EXPORTER", "otlp") == "otlp":
            reader = PeriodicExportingMetricReader(OTLPMetricExporter(session=_Session()))
            self._meters = MeterProvider([reader], resource, shutdown_on_exit=False)
        self._add = {} if self._meters is None else dict(_instruments(self._meters))

    def count(self, metric: str, value: float, attributes: dict[str, Any]) -> None:
        if metric in self._add:
            self._add[metric](value, attributes)

    def close(self) -> None:
        thread = threading.Thread(target=self._shut_down, name="telemetry", daemon=True)
        thread.start()
        thread.join(_LOST_PATIENCE if self._session.failure else _PATIENCE)

    def _shut_down(self) -> None:
        self._tracers.shutdown()
        if self._meters is not None:
            self._meters.shutdown()

    def problems(self, wrong: str) -> Iterator[str]:
        total, delivered = self.ended, self._spans.delivered
        if delivered < total:
            self.ended = delivered  # once is enough
            why = self._session.failure or "no answer in time"
            spans = f"{total - delivered} of {plural(total, 'span')}"
            yield f"telemetry: {spans} did not reach {shown_address(self._address)}: {why}"
        elif wrong:
            yield f"telemetry: a part of the trace is missing: {wrong} (a bug)"
