"""Notes of calls, a line each, in a file from which another process sends them.

What a call pays: a line is appended, and once a minute the sender is started.
"""

from __future__ import annotations

import json
import os
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import settings
from ai_lessons.app.daemon_client import claimed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.interfaces.measures import Figures

# Each alone switches it on; the second is of metrics alone, and goes before the first
ENDPOINTS = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
# The package that sends by a protocol, and what installs it
PACKAGES = {
    "http/protobuf": ("opentelemetry.exporter.otlp.proto.http", "ai-lessons[otel]"),
    "grpc": (
        "opentelemetry.exporter.otlp.proto.grpc",
        "opentelemetry-exporter-otlp-proto-grpc",
    ),
}

# New lines, and those that are being sent
NEW, SENDING = "new.jsonl", "sending.jsonl"
# Locks: of the sender that waits for more, and of the one that sends
LOCK, TURN = "waiting.lock", "sending.lock"
# Bytes of a file of lines, some 10,000 calls: where no collector takes them, later ones are left out
MOST_KEPT = 1 << 20
# Seconds after a start in which no other sender is started, until it holds its lock
STARTING = 10.0
# Seconds that a command waits for its sender where the machine goes away after it
PATIENCE = 2.0


class Destination(NamedTuple):
    """Where the numbers go: the endpoint, and the module that sends by the protocol.

    `why_not`: why nothing is sent, empty where it is; `remedy`: what mends that.
    """

    endpoint: str
    package: str = ""
    why_not: str = ""
    remedy: str = ""


def destination(environ: Mapping[str, str]) -> Destination:
    """What the variables of OpenTelemetry say."""
    endpoint = _first(environ, ENDPOINTS)
    if not endpoint:
        return Destination("", why_not=f"{ENDPOINTS[1]} is not set")
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Destination(endpoint, why_not="OTEL_SDK_DISABLED is true")
    if environ.get("AI_LESSONS_OFFLINE", "").strip().lower() in settings.TRUE:
        return Destination(endpoint, why_not="AI_LESSONS_OFFLINE is set")
    exporters = environ.get("OTEL_METRICS_EXPORTER", "") or "otlp"
    if "otlp" not in exporters.split(","):
        return Destination(endpoint, why_not="OTEL_METRICS_EXPORTER names others than otlp")
    protocol = _first(environ, PROTOCOLS) or "http/protobuf"
    if protocol not in PACKAGES:
        why_not = "the protocol of OTLP that is asked for is not known here"
        return Destination(endpoint, "", why_not, f"{PROTOCOLS[1]}=http/protobuf")
    package, installs = PACKAGES[protocol]
    if not _is_here(package):
        why_not = f"the OpenTelemetry packages for {protocol} are not here"
        return Destination(endpoint, package, why_not, f"pip install '{installs}'")
    return Destination(endpoint, package)


def _first(environ: Mapping[str, str], variables: tuple[str, ...]) -> str:
    for variable in variables:
        if value := environ.get(variable, "").strip():
            return value
    return ""


def _is_here(package: str) -> bool:
    # importlib would import the packages above it
    place = package.replace(".", "/")
    return any(os.path.isdir(os.path.join(folder, place)) for folder in sys.path)


def folder_of(environ: Mapping[str, str]) -> Path:
    """Where lines for this destination are: what one collector gets, no other does."""
    named = sorted(item for item in environ.items() if item[0].startswith("OTEL_"))
    name = sha256(repr(named).encode("utf-8", "replace")).hexdigest()[:12]
    return settings.folders(environ).state / "telemetry" / name


def record(operation: str, seconds: float, figures: Figures, environ: Mapping[str, str]) -> None:
    """Note a call, and see that it is sent. Raises OSError: it cannot be noted."""
    if destination(environ).why_not:
        return
    folder = folder_of(environ)
    append(folder, [operation, round(seconds, 6), figures])
    # the last step of a job in CI; an agent there searches many times
    if operation == "check" and environ.get("CI", "").lower() not in settings.FALSE:
        _send_now(folder, environ)
    else:
        start(folder, environ)


def append(folder: Path, row: object) -> None:
    """Add a line; none where too many wait. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(folder / NEW, flags, 0o600)
    try:
        if os.fstat(descriptor).st_size < MOST_KEPT:
            # one write, so that lines of several processes do not mix
            os.write(descriptor, json.dumps(row).encode() + b"\n")
    finally:
        os.close(descriptor)


def start(folder: Path, environ: Mapping[str, str]) -> None:
    """Start the process that sends, unless one is waiting to. Raises OSError."""
    lock, wait = folder / LOCK, interval(environ)
    if lock.exists() and time.time() < lock.stat().st_mtime + min(STARTING, wait):
        return
    with claimed(lock) as free:
        if free:
            os.utime(lock)
    if free:
        from ai_lessons.git import processes

        argv = _sender(folder, wait)
        processes.leave_running(argv, env=environ, cwd=Path("/"))


def _send_now(folder: Path, environ: Mapping[str, str]) -> None:
    """Send, and wait for it a little: a machine of CI is gone when its job is done."""
    import subprocess

    from ai_lessons.git import processes

    try:
        processes.run(_sender(folder, 0.0), env=environ, timeout=PATIENCE, cwd=Path("/"))
    except subprocess.TimeoutExpired:
        return


def _sender(folder: Path, seconds: float) -> list[str]:
    module = "ai_lessons.features.telemetry.sender"
    return [sys.executable, "-P", "-m", module, str(folder), str(seconds)]


def interval(environ: Mapping[str, str]) -> float:
    """Seconds in which lines come together before they are sent."""
    try:
        milliseconds = float(environ.get("OTEL_METRIC_EXPORT_INTERVAL", ""))
    except ValueError:
        milliseconds = 60_000
    # a stated nan is the least, too
    return min(max(0.0, milliseconds / 1000), 3600.0)
