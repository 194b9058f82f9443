"""A receiver of OTLP on loopback, and what it has got."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.examples import until

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True)
class Span:
    """A span as it arrived; ids in hex."""

    name: str
    trace: str
    id: str
    parent: str
    kind: int
    failed: bool
    attributes: dict[str, Any]
    links: tuple[tuple[str, str], ...]
    events: tuple[tuple[str, dict[str, Any]], ...]
    began: int
    ended: int

    @property
    def traceparent(self) -> str:
        """What TRACEPARENT has of it, without version and flags."""
        return f"{self.trace}-{self.id}"


@dataclass
class Receiver:
    """What it answers, and what has come: bodies and headers by path."""

    port: int = 0
    status: int = 200
    got: list[tuple[str, bytes, dict[str, str]]] = field(default_factory=list)
    hangs: threading.Event = field(default_factory=threading.Event)

    @property
    def env(self) -> dict[str, str]:
        """Leads a run here."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.port}"}

    @property
    def bodies(self) -> bytes:
        return b"\0".join(body for _, body, _ in self.got)

    def spans(self) -> list[Span]:
        """In the order in which they began."""
        found = []
        for body in [body for path, body, _ in self.got if path == "/v1/traces"]:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                found += [_span(each) for scope in resource.scope_spans for each in scope.spans]
        return sorted(found, key=lambda each: each.began)

    def span(self, name: str) -> Span:
        (found,) = [each for each in self.spans() if each.name == name]
        return found

    def resource(self) -> dict[str, Any]:
        """Of the first that came."""
        body = next(body for path, body, _ in self.got if path == "/v1/traces")
        return _attributes(ExportTraceServiceRequest.FromString(body).resource_spans[0].resource.attributes)

    def metrics(self) -> dict[str, list[tuple[float, dict[str, Any]]]]:
        """By name, each point with its sum: of the last that came."""
        body = [body for path, body, _ in self.got if path == "/v1/metrics"][-1]
        found: dict[str, list[tuple[float, dict[str, Any]]]] = {}
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            for metric in [each for scope in resource.scope_metrics for each in scope.metrics]:
                kind = metric.WhichOneof("data")
                for point in getattr(metric, kind).data_points:
                    value = point.sum if kind == "histogram" else getattr(point, point.WhichOneof("value"))
                    found.setdefault(metric.name, []).append((value, _attributes(point.attributes)))
        return found

    def until_there(self, name: str) -> Span:
        """Wait for a span."""
        until(lambda: any(each.name == name for each in self.spans()), f"a span {name}")
        return self.span(name)


def _span(span: Any) -> Span:
    return Span(
        name=span.name,
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        kind=span.kind,
        failed=span.status.code == 2,
        attributes=_attributes(span.attributes),
        links=tuple((each.trace_id.hex(), each.span_id.hex()) for each in span.links),
        events=tuple((each.name, _attributes(each.attributes)) for each in span.events),
        began=span.start_time_unix_nano,
        ended=span.end_time_unix_nano,
    )


def _attributes(pairs: Iterable[Any]) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in pairs}


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Have one at work; what hangs in it is let go at the end."""
    receiver = Receiver()
    receiver.hangs.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.hangs.wait()
            if receiver.status == 200:
                receiver.got.append((self.path, body, dict(self.headers)))
            self.send_response(receiver.status)
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Silence."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_arguments: object) -> None:
            """Whoever has asked is gone by now."""

    server = Server(("127.0.0.1", 0), Handler)
    receiver.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.hangs.set()
        server.shutdown()
        thread.join()
        server.server_close()
