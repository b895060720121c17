"""What the doctor says of telemetry."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ai_lessons import settings
from ai_lessons.features.telemetry.records import SENDING, destination, folder_of

if TYPE_CHECKING:
    from ai_lessons.app.workspace import RepositorySession


def check(_repo: RepositorySession) -> tuple[str, str, str] | None:
    """The line of the doctor: state, what there is, what mends it; None where nobody asked for it."""
    to = destination(os.environ)
    if not to.endpoint:
        return None
    if to.why_not:
        state = "warning" if to.remedy else "ok"
        return state, f"nothing is sent: {to.why_not}", to.remedy
    if settings.load(os.environ, Path("/")).offline:
        return "ok", "nothing is sent: the configuration says offline", ""
    host = urlsplit(to.endpoint).hostname or "the collector"
    # what is being sent now is there for a moment, too
    if (folder_of(os.environ) / SENDING).exists():
        why = f"{host} did not take the last counts and durations, which wait"
        return "warning", why, "look whether it answers at OTEL_EXPORTER_OTLP_ENDPOINT"
    return "ok", f"counts and durations of hooks, checks and searches go to {host}", ""
