"""A collector of OpenTelemetry on loopback, which keeps what is sent to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]  # no stubs
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from a_server import listening

PATIENCE = 120.0
"""Seconds until a test gives up waiting for a message."""


class Collector:
    """What came: bytes as they were sent, and decoded. `status` is what it answers."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.status = 200
        self.came, self.answers = threading.Event(), threading.Event()
        self.answers.set()
        self.address = ""

    def messages(self) -> list[dict[str, Any]]:
        """Each message that was taken, as JSON has it."""
        decoded = []
        for body in self.bodies:
            decoded.append(MessageToDict(ExportMetricsServiceRequest.FromString(body)))
        return decoded

    def points(self, name: str) -> list[tuple[dict[str, str], dict[str, Any]]]:
        """Every data point of a metric: attributes, and the point."""
        points = []
        for metric in self.metrics():
            if metric["name"] == name:
                data = metric.get("sum") or metric["histogram"]
                for point in data["dataPoints"]:
                    points.append((named(point.get("attributes", [])), point))
        return points

    def metrics(self) -> Iterator[dict[str, Any]]:
        """Every metric of every message."""
        for message in self.messages():
            for resource in message["resourceMetrics"]:
                for scope in resource["scopeMetrics"]:
                    yield from scope["metrics"]

    def total(self, name: str) -> int:
        """What the points of a counter add up to."""
        return sum(int(point["asInt"]) for _, point in self.points(name))

    def resource(self) -> dict[str, str]:
        """Who sent the last message."""
        last = self.messages()[-1]["resourceMetrics"][-1]["resource"]
        return named(last["attributes"])

    def wait(self, messages: int = 1) -> None:
        """Until so many came."""
        while len(self.bodies) < messages:
            assert self.came.wait(PATIENCE), f"{len(self.bodies)} of {messages} messages came"
            self.came.clear()


def named(attributes: list[dict[str, Any]]) -> dict[str, str]:
    return {one["key"]: one["value"]["stringValue"] for one in attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = collector.status
            collector.answers.wait(PATIENCE)
            if status == 200:
                collector.bodies.append(body)
                collector.headers.append({k.lower(): v for k, v in self.headers.items()})
                collector.paths.append(self.path)
            self.send_response(status)
            self.end_headers()
            collector.came.set()

        def log_message(self, *_: object) -> None:
            pass

    with listening(Handler) as host:
        collector.address = f"http://{host}"
        try:
            yield collector
        finally:
            collector.answers.set()
