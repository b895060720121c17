"""Counts and durations reach a collector, and nothing else does; no call waits for it or fails with it."""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons import settings
from ai_lessons.app import daemon_client
from ai_lessons.features.telemetry import jobs, metrics, records, sender
from ai_lessons.search import model_files
from ai_lessons.search.model_files import ModelUnavailable
from features.telemetry.a_collector import Collector, collecting
from interfaces.agent_host import Host
from interfaces.mcp_peer import served
from interfaces.test_warm import serving, state  # noqa: F401  # a fixture
from interfaces.world import Run, environment, run_inside
from real_world import instead, put_file
from test_import_cost import calling, loaded

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
EDIT = {"tool_name": "Write", "tool_input": {"file_path": "workflows/xylograph.py", "content": "x"}}


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch, knowledge: Path) -> Iterator[Collector]:
    """One that the environment names; what is noted goes to it at once."""
    with collecting() as running:
        monkeypatch.delenv("AI_LESSONS_OFFLINE")
        monkeypatch.delenv("CI", raising=False)
        monkeypatch.setenv(ENDPOINT, running.address)
        monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "0")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "2")
        # nothing but the collector is asked: a search of a test downloads no model
        with pytest.raises(ModelUnavailable):
            model_files.pull(settings.folders(os.environ).cache, sources={})
        yield running


@pytest.fixture
def noting(monkeypatch: pytest.MonkeyPatch, collector: Collector) -> Collector:
    """The same, where calls are noted and sent when a test says so."""
    monkeypatch.setattr(records, "start", lambda *_: None)
    return collector


def folder() -> Path:
    return records.folder_of(os.environ)


def noted() -> list[Any]:
    file = folder() / records.NEW
    return [json.loads(row) for row in file.read_text().splitlines()] if file.exists() else []


def sent() -> bool:
    """Send what was noted, as the process for it does; whether nothing is left."""
    folder().mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder() / records.TURN).open("a") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        sender.send(folder(), 0.0)
    return not list(folder().glob("*.jsonl"))


def test_hooks_checks_and_searches_are_counted_and_timed(
    collector: Collector, checked: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_file(checked.code / "src/workflows/a.py", "requests.put(1)\n")
    edit = {"file_path": f"{checked.code}/workflows/a.py", "content": "requests.put(1)\n"}
    with instead("ai_lessons.features.telemetry.records.start", lambda *_: None):
        checked.hear("stop")
        assert run_inside(["search", "workflow"], checked.code, CI="true").code == 0
    # the hook starts a process that sends; the check waits for one, here for as long as it takes
    checked.end(checked.start(checked.event("before_write", tool_input=edit)))
    monkeypatch.setattr(records, "PATIENCE", 600)
    assert run_inside(["check", "--project", "jira-api"], checked.code, CI="1").code == 1
    while collector.total("ai_lessons.hook.calls") < 2:
        collector.wait(len(collector.bodies) + 1)
    hooks = [attributes for attributes, _ in collector.points("ai_lessons.hook.calls")]
    assert {one["ai_lessons.hook.host"] for one in hooks} == {"claude-code"}
    assert {one["ai_lessons.hook.event"] for one in hooks} == {"before-tool", "stop"}
    assert "told" in {one["ai_lessons.hook.outcome"] for one in hooks}
    assert collector.total("ai_lessons.search.calls") == 1
    assert collector.total("ai_lessons.search.results") > 0
    assert collector.total("ai_lessons.check.calls") == 1
    assert collector.total("ai_lessons.check.findings") == 1
    for operation in ("hook", "check", "search"):
        points = collector.points(f"ai_lessons.{operation}.duration")
        assert sum(int(point["count"]) for _, point in points) >= 1
        for _, point in points:
            assert 0 < point["sum"] < 100
            assert int(point["startTimeUnixNano"]) < int(point["timeUnixNano"])
    assert set(collector.paths) == {"/v1/metrics"}
    assert {metric.get("unit") for metric in collector.metrics()} >= {"s", "{hook}", "{check}"}
    assert collector.resource()["service.name"] == "ai-lessons"


def test_a_tool_of_mcp_and_a_failure_are_named_as_the_conventions_say(noting: Collector) -> None:
    folder().mkdir(parents=True)
    # the server notes, and leaves the sending to who waits already
    with daemon_client.claimed(folder() / records.LOCK), served() as peer:
        peer.greet()
        peer.answer(peer.call("search", query="workflow"))
        peer.answer(peer.call("search", query="workflow", type="no such kind"))
        peer.answer(peer.call("search", query="project:"))
    assert sent()
    points = noting.points("ai_lessons.search.calls")
    assert {one.get("gen_ai.tool.name") for one, _ in points} == {"search"}
    assert {one.get("mcp.method.name") for one, _ in points} == {"tools/call"}
    assert run_inside(["search", "a", "--limit", "0"], Path.cwd()).code != 0
    assert run_inside(["check", "--since", "nosuchrevision"], Path.cwd()).code != 0
    assert sent()
    errors = {one.get("error.type") for one, _ in noting.points("ai_lessons.check.calls")}
    assert errors <= {"NotFound", "UsageError"}
    assert errors


def test_no_text_and_no_name_of_a_person_or_a_file_is_sent(
    noting: Collector,
    checked: Host,
    knowledge: Path,
    hermetic: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put_file(checked.code / "src/workflows/xylograph.py", "requests.put(1)  # bumfuzzle\n")
    environ = {"USER": "taradiddle", "LOGNAME": "taradiddle", "HOSTNAME": "widdershins"}
    environ["OTEL_EXPERIMENTAL_RESOURCE_DETECTORS"] = "process,os,host,otel"
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    checked.hear("stop")
    checked.hear("qwen_prompt", prompt="What of the collywobbles?")
    checked.hear("before_edit", **EDIT)
    for words in (
        ["search", "collywobbles of workflows"],
        ["search", "transitions", "--project", "jira-api"],
        ["check", "--project", "jira-api", "src"],
        ["check", "src/bumfuzzle.py"],
    ):
        run_inside(words, checked.code)
    rows = noted()
    assert {row[0] for row in rows} == {"hook", "search", "check"}
    assert sent()
    texts = [*environ.values(), "collywobbles", "xylograph", "bumfuzzle", "person@example.com"]
    texts += [*hermetic.parts, *knowledge.parts, *checked.code.parts, str(Path.home())]
    for root in (knowledge, checked.code, hermetic):
        for file in root.rglob("*"):
            texts += file.relative_to(root).parts
            if file.suffix in {".md", ".py", ".sh", ".yaml"}:
                texts += words_in(file.read_text("utf-8", "replace"))
    own = json.dumps(
        [metrics.OPERATIONS, [*metrics.ATTRIBUTES.items()], [*metrics.AMOUNTS.values()]]
    )
    own += " ai_lessons ai-lessons telemetry.sdk.language python service.instance.id service.name duration calls"
    own += " before-tool check-results findings allowed files results search outcome silent told"
    secret = {text.casefold() for text in texts if len(text) > 4} - words_in(own)
    assert {"workflow", "transitions", "replaces", "put-replaces-8f3k2a.md"} < secret
    (body,) = noting.bodies
    came = words_in(body.decode("latin-1"))
    assert secret & came == set()
    # nor as a part of a longer word
    for text in (
        "taradiddle",
        "widdershins",
        "collywobbles",
        "xylograph",
        "bumfuzzle",
        "test person",
    ):
        assert text.encode() not in body.lower()
    assert str(Path.home()).encode() not in body
    assert socket.gethostname().encode() not in body


def words_in(text: str) -> set[str]:
    """Every word of a text, whole, and by the parts that signs join."""
    whole = re.findall(r"[\w@./-]{5,}", text.casefold())
    parts = [part for word in whole for part in re.split(r"[^a-z0-9]+", word)]
    return {word for word in (*whole, *parts) if len(word) > 4}


def test_every_string_that_is_sent_is_one_of_ours(noting: Collector, host: Host) -> None:
    host.hear("before_edit", **EDIT)
    run_inside(["search", "workflow"], host.code)
    records.append(folder(), ["search", 0.1, {"title": "Nothing", "event": "begin"}])
    records.append(folder(), ["Nothing", 0.1, {}])
    assert sent()
    (message,) = noting.messages()
    values = set[str]()
    for metric in noting.metrics():
        for attributes, _ in noting.points(metric["name"]):
            values |= {*attributes, *attributes.values()}
    assert values <= {
        *metrics.ATTRIBUTES.values(),
        "claude-code",
        "before-tool",
        "told",
        "silent",
        "begin",
    }
    assert "Nothing" not in json.dumps(message)
    known = {"service.name", "service.version", "service.instance.id", "telemetry.sdk.language"}
    assert noting.resource().keys() == known | {"telemetry.sdk.name", "telemetry.sdk.version"}


def test_without_the_variable_nothing_is_noted_loaded_or_sent(
    knowledge: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    names = loaded(calling("search", "workflow"))
    ours = {name for name in names if "telemetry" in name}
    assert ours == set()
    assert run("search", "workflow").code == 0
    state_of_user = settings.folders(os.environ).state
    assert not (state_of_user / "telemetry").exists()
    assert "telemetry" not in run("admin", "doctor").out


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_METRICS_EXPORTER", "none"),
        ("AI_LESSONS_OFFLINE", "1"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/morse"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", ""),
    ],
)
def test_a_variable_that_says_no_is_obeyed(
    noting: Collector, monkeypatch: pytest.MonkeyPatch, name: str, value: str, run: Run
) -> None:
    monkeypatch.setenv(name, value)
    assert run("search", "workflow").code == 0
    assert noted() == []
    assert not list((settings.folders(os.environ).state / "telemetry").glob("*/*"))


def test_nothing_is_sent_where_the_configuration_says_offline(
    noting: Collector, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    config = settings.folders(os.environ).config / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("offline = true\n")
    assert run("search", "workflow").code == 0
    assert noted()
    assert sent()
    assert noting.headers == []
    assert "nothing is sent: the configuration says offline" in run("admin", "doctor").out


def test_what_the_variables_state_is_sent(
    noting: Collector, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc,x-team=one")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "knowledge")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=trial")
    run("search", "workflow")
    assert sent()
    assert noting.headers[-1]["authorization"] == "Bearer abc"
    assert noting.headers[-1]["x-team"] == "one"
    resource = noting.resource()
    assert resource["service.name"] == "knowledge"
    assert resource["deployment.environment.name"] == "trial"
    kinds = {
        metric["sum"]["aggregationTemporality"] for metric in noting.metrics() if "sum" in metric
    }
    assert kinds == {"AGGREGATION_TEMPORALITY_DELTA"}
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "cumulative")
    noting.bodies.clear()
    run("search", "workflow")
    assert sent()
    kinds = {
        metric["sum"]["aggregationTemporality"] for metric in noting.metrics() if "sum" in metric
    }
    assert kinds == {"AGGREGATION_TEMPORALITY_CUMULATIVE"}


def test_what_is_noted_for_one_collector_is_sent_to_no_other(
    noting: Collector, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    run("search", "workflow")
    first = folder()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=other")
    assert folder() != first
    assert noted() == []
    assert sent()
    assert noting.bodies == []
    # what nobody asks for any more goes after a week
    sender.forget(folder())
    assert (first / records.NEW).exists()
    os.utime(first / records.NEW, (0, 0))
    sender.forget(folder())
    assert not (first / records.NEW).exists()


@pytest.mark.parametrize("trouble", ["away", "refuses", "hangs"])
def test_a_hook_neither_waits_nor_fails_where_the_collector_does_not_answer(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, host: Host, approved: str, trouble: str
) -> None:
    """One hook is a process that starts another one to send; the others are asked in this process, and start none."""

    def told(session: str, address: str) -> Any:
        event = host.event("before_edit", session_id=session)
        if trouble == "hangs":
            return json.loads(host.end(host.start(event, **{ENDPOINT: address})))
        with instead("ai_lessons.features.telemetry.records.start", lambda *_: None):
            words = ["admin", "agent-hook"]
            return json.loads(run_inside(words, host.code, event, **{ENDPOINT: address}).out)

    off = told("first", "")
    address = collector.address
    if trouble == "away":
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{unused.getsockname()[1]}"
    elif trouble == "refuses":
        collector.status = 400
    else:
        # an answer that nobody waits for any more
        collector.status = 503
        collector.answers.clear()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    monkeypatch.setenv(ENDPOINT, address)
    # where it hangs, the hook has ended before the collector answers anything
    assert told("again", address) == off
    assert run_inside(["search", "workflow"], host.code).code == 0
    # the process that sends gives up, and keeps what nobody took
    assert not sent()
    rows = (folder() / records.SENDING).read_text()
    assert '"hook"' in rows
    waiting = jobs.check(None)  # type: ignore[arg-type]  # it asks no repository
    assert waiting
    assert waiting[0] == "warning"
    collector.status = 200
    collector.answers.set()
    with instead("ai_lessons.features.telemetry.records.folder_of", lambda _: folder_at(address)):
        monkeypatch.setenv(ENDPOINT, collector.address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "60")
        assert sent()
    assert collector.total("ai_lessons.hook.calls") == 1
    assert collector.total("ai_lessons.search.calls") == 1
    taken = jobs.check(None)  # type: ignore[arg-type]  # as above
    assert taken
    assert taken[0] == "ok"


def folder_at(address: str) -> Path:
    """Where lines for this address are."""
    environ = {**os.environ, ENDPOINT: address}
    named = sorted(item for item in environ.items() if item[0].startswith("OTEL_"))
    assert named
    (place,) = (settings.folders(environ).state / "telemetry").glob("*")
    return place


def test_a_hook_that_the_helper_answers_is_counted_by_it(
    noting: Collector,
    host: Host,
    approved: str,
    state: Path,  # noqa: F811  # the fixture
) -> None:
    with serving(state / "warm" / daemon_client.program()) as helper:
        host.end(host.start(host.event("before_edit"), AI_LESSONS_WARM="1"))
        assert helper.requests == 1
    (row,) = noted()
    assert row[0] == "hook"
    assert row[2] == {"event": "before-tool", "host": "claude-code", "outcome": "told"}


def test_where_the_packages_are_missing_doctor_says_it_and_nothing_fails(
    noting: Collector, run: Run
) -> None:
    with instead("ai_lessons.features.telemetry.records._is_here", lambda _: False):
        assert run("search", "workflow").code == 0
        assert noted() == []
        doctor = run("admin", "doctor").out
        assert doctor.count("OpenTelemetry packages") == 1
        assert "pip install 'ai-lessons[otel]'" in doctor
    assert "go to 127.0.0.1" in run("admin", "doctor").out


def test_a_folder_that_cannot_be_written_stops_no_search(noting: Collector, run: Run) -> None:
    put_file(settings.folders(os.environ).state / "telemetry", "a file where a folder should be")
    done = run("search", "workflow")
    assert (done.code, done.err) == (0, run("search", "workflow").err)
    assert "workflow" in done.out.lower()


def test_what_waits_has_a_limit(noting: Collector) -> None:
    file = put_file(folder() / records.NEW, b"x" * records.MOST_KEPT)
    records.append(folder(), ["search", 1.0, {}])
    assert file.stat().st_size == records.MOST_KEPT


def test_one_process_waits_for_more_and_one_sends_at_once(collector: Collector) -> None:
    records.append(folder(), ["search", 1.0, {"results": 2}])
    argv = [sys.executable, "-P", "-m", "ai_lessons.features.telemetry.sender", str(folder())]
    with daemon_client.claimed(folder() / records.LOCK) as free:
        assert free
        # one waits already: another one that would wait leaves it all to that process
        subprocess.run([*argv, "3600"], env=environment(), cwd="/", check=True)
        assert len(noted()) == 1
        subprocess.run([*argv, "0"], env=environment(), cwd="/", check=True)
    assert collector.total("ai_lessons.search.results") == 2
    assert noted() == []


def test_the_sender_is_started_once(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "60000")
    with instead("ai_lessons.git.processes.leave_running", lambda argv, **_: started.append(argv)):
        for _ in range(3):
            records.record("search", 1.0, {}, os.environ)
        assert len(started) == 1
        os.utime(folder() / records.LOCK, (0, 0))
        records.record("search", 1.0, {}, os.environ)
        assert len(started) == 2
    assert len(noted()) == 4


@given(st.lists(st.one_of(st.binary(max_size=30), st.just(b'["search", 1, {"results": 1}]'))))
def test_any_bytes_in_the_file_are_read_and_whole_lines_count(lines: list[bytes]) -> None:
    import tempfile

    good = b'["search", 1, {"results": 1}]'
    lines = [line.replace(b"\n", b"") for line in lines]
    with tempfile.TemporaryDirectory() as place:
        file = put_file(Path(place) / "lines", b"\n".join(lines))
        rows = list(sender.rows(file))
    assert rows.count(("search", 1.0, {"results": 1})) == lines.count(good)


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [("", 60), ("1000", 1), ("-5", 0), ("nan", 0), ("soon", 60), ("1e12", 3600)],
)
def test_the_interval_is_that_of_the_packages(stated: str, seconds: float) -> None:
    assert records.interval({"OTEL_METRIC_EXPORT_INTERVAL": stated}) == seconds
