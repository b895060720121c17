"""The metrics, and how they are sent. Home of opentelemetry.

Names are those of the semantic conventions of OpenTelemetry where these have one
(`error.type`, `gen_ai.tool.name`, `mcp.method.name`), else below `ai_lessons`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    InMemoryMetricReader,
    MetricExporter,
    MetricExportResult,
    MetricsData,
)
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource

from ai_lessons.features.telemetry.records import destination
from ai_lessons.interfaces.cli.command import version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opentelemetry.metrics import Meter

# What is counted and timed, with what it is called in a description
OPERATIONS = {"hook": "Events of agent hosts", "check": "Runs of `check`", "search": "Searches"}
# Words of a call that become attributes. Others are not sent
ATTRIBUTES = {
    "event": "ai_lessons.hook.event",
    "host": "ai_lessons.hook.host",
    "outcome": "ai_lessons.hook.outcome",
    "error": "error.type",
    "tool": "gen_ai.tool.name",
}
# Numbers of a call that become counters of their own: operation and figure, unit and description
AMOUNTS = {
    ("check", "files"): ("{file}", "Files that were looked at"),
    ("check", "findings"): ("{finding}", "Lines that break a rule in force"),
    ("check", "allowed"): ("{line}", "Lines that break a rule and that a comment allows"),
    ("search", "results"): ("{entry}", "Entries that were found"),
}
# Seconds; those that the conventions advise for requests over HTTP
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)

_TEMPORALITY = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"
# It names the user, the machine and the command line in what is sent
_DETECTORS = "OTEL_EXPERIMENTAL_RESOURCE_DETECTORS"


def export(rows: Iterable[tuple[str, float, Mapping[str, Any]]], since: float) -> bool:
    """Send these calls (operation, seconds, figures) as the environment says.

    `since`: when the first of them may have begun, in seconds since 1970. False where no collector
    took them. Raises ImportError: the package for it is not here.
    """
    module = import_module(f"{destination(os.environ).package}.metric_exporter")
    # a sum since the start means little where a process sends once and ends
    if os.environ.get(_TEMPORALITY, "").strip().lower() == "cumulative":
        temporality = AggregationTemporality.CUMULATIVE
    else:
        temporality = AggregationTemporality.DELTA
    reader = InMemoryMetricReader(
        preferred_temporality={Counter: temporality, Histogram: temporality}
    )
    provider = MeterProvider([reader], resource(), shutdown_on_exit=False)
    exporter: MetricExporter = module.OTLPMetricExporter()
    try:
        _count(provider.get_meter("ai_lessons", version()), rows)
        data = reader.get_metrics_data()
        if data is None:
            return True
        sent = exporter.export(_since(data, int(since * 1e9)))
        return sent is MetricExportResult.SUCCESS
    finally:
        exporter.shutdown()


def _since(data: MetricsData, nanoseconds: int) -> MetricsData:
    """The same numbers, of a time that begins where the calls did, and not where they were added up."""
    resources = []
    for of_resource in data.resource_metrics:
        scopes = []
        for scope in of_resource.scope_metrics:
            metrics = []
            for metric in scope.metrics:
                # sums and histograms: which kind it is does not matter here
                data_of: Any = metric.data
                points = []
                for point in data_of.data_points:
                    points.append(replace(point, start_time_unix_nano=nanoseconds))
                metrics.append(replace(metric, data=replace(data_of, data_points=points)))
            scopes.append(replace(scope, metrics=metrics))
        resources.append(replace(of_resource, scope_metrics=scopes))
    return MetricsData(resources)


def resource() -> Resource:
    """Who sends: the program, and what the variables of OpenTelemetry add."""
    os.environ.pop(_DETECTORS, None)
    named = Resource.create()
    ours = {SERVICE_VERSION: version()}
    if str(named.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        ours[SERVICE_NAME] = "ai-lessons"
    return Resource({**named.attributes, **ours})


def _count(meter: Meter, rows: Iterable[tuple[str, float, Mapping[str, Any]]]) -> None:
    calls, durations, amounts = {}, {}, {}
    for operation, words in OPERATIONS.items():
        calls[operation] = meter.create_counter(
            f"ai_lessons.{operation}.calls", f"{{{operation}}}", words
        )
        durations[operation] = meter.create_histogram(
            f"ai_lessons.{operation}.duration",
            "s",
            f"{words}: how long each took",
            explicit_bucket_boundaries_advisory=BOUNDS,
        )
    for (operation, figure), described in AMOUNTS.items():
        amounts[operation, figure] = meter.create_counter(
            f"ai_lessons.{operation}.{figure}", *described
        )
    for operation, seconds, figures in rows:
        if operation not in OPERATIONS:
            continue
        attributes = attributes_of(figures)
        calls[operation].add(1, attributes)
        durations[operation].record(seconds, attributes)
        for figure, amount in figures.items():
            if (operation, figure) in amounts and isinstance(amount, int):
                amounts[operation, figure].add(amount, attributes)


def attributes_of(figures: Mapping[str, Any]) -> dict[str, str]:
    """The words of a call by the names of OpenTelemetry."""
    attributes = {}
    for figure, name in ATTRIBUTES.items():
        if figures.get(figure):
            attributes[name] = str(figures[figure])
    if "tool" in figures:
        attributes["mcp.method.name"] = "tools/call"
    return attributes
