"""What rules do, added up over reports of CI and the events of sessions."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.features.checks.findings import CheckedRule, CheckReport
from ai_lessons.features.checks.report import as_sarif
from ai_lessons.features.reports import page
from ai_lessons.features.reports.reading import CheckRun, NoReport, RuleInRun, runs_in
from ai_lessons.features.reports.sums import RulesReport, Sums
from ai_lessons.interfaces import output
from ai_lessons.model.events import ALLOWED, BROKEN, IN_SCOPE, STOPPED, Event, line_of
from interfaces.agent_host import Host
from interfaces.rules_with_checks import HANDLE, Session, enforced
from interfaces.world import RULE, Run
from real_world import Git, commit_all, put_file

OTHER = "01JD3Z8QK5W7M2X9V4T6AAAAAA"
AT = "2026-11-28T10:00:00Z"


def stated(**more: Any) -> dict[str, Any]:
    """A report as `check --format json` writes it, of one rule that was broken once."""
    rule: dict[str, Any] = {
        "id": RULE,
        "handle": HANDLE,
        "title": "GET before PUT",
        "level": "error",
    }
    rule |= {"in_scope": 3, "broken": 1, "allowed": 0, "commit": "a" * 40}
    return {
        "findings": [], "by_rule": [rule], "project": "shop", "revision": "", "at": AT, "warn": False, **more
    }  # fmt: skip


def written(folder: Path, name: str, **more: Any) -> Path:
    return put_file(folder / name, json.dumps(stated(**more)))


def test_reports_of_two_repositories_and_sessions_of_agents_add_up_by_month(
    checked: Host, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git: Git
) -> None:
    put_file(checked.code / "workflows/a.py", "requests.put(1)\n")
    commit_all(git, checked.code, "first")
    monkeypatch.chdir(checked.code)
    month = run("check", "--json").json["at"][:7]
    put_file(tmp_path / "stops.json", run("check", "--format", "json").out)
    put_file(
        checked.code / "workflows/b.py",
        f"requests.put(1)  # ai-lessons: allow {HANDLE} because x\n",
    )
    commit_all(git, checked.code, "second")
    put_file(tmp_path / "warns.sarif", run("check", "--format", "sarif", "--warn").out)
    written(tmp_path, "old.json", project="till", at="2025-01-02T03:04:05Z")
    for name, broken in (("s1", "requests.put(1)"), ("s2", "requests.put(2)"), ("s3", "x")):
        session = Session(checked, name=name)
        session.hear("SessionStart", source="startup")
        if name == "s2":
            enforced(checked, run, "deny")
        session.edit("workflows/c.py", f"import requests\n{broken}\n")
    files = [tmp_path / name for name in ("stops.json", "warns.sarif", "old.json")]
    done = run("admin", "report", *files)
    assert done.code == 0, done.err
    rows = [re.split(r"  +", line) for line in done.out.splitlines()]
    title = "GET a workflow before you PUT it"
    assert rows == [
        ["3 runs of `check` in 2 projects, and 3 sessions of agents"],
        ["month", "rule", "title", "in scope", "broken", "stopped", "would stop", "allowed"],
        [month, HANDLE, title, "5", "4", "2", "2", "1"],
        ["2025-01", HANDLE, title, "1", "1", "1", "0", "0"],
    ]
    answer = run("admin", "report", *files, "--json").json
    (total,) = answer["totals"]
    assert (total["month"], total["projects"], total["in_scope"], total["would_stop"]) == (
        "",
        2,
        6,
        2,
    )
    assert "left out" not in done.err
    copy = put_file(tmp_path / "copy.json", files[0].read_bytes())
    again = run("admin", "report", *files, copy)
    assert again.out == done.out
    assert "1 left out: of the reports on one commit the last counts" in again.err
    only_events = run("admin", "report", "--json").json
    assert (only_events["runs"], only_events["sessions"]) == (0, 3)


def test_events_that_other_clones_share_count_each_once_and_damaged_lines_are_named(
    knowledge: Path, run: Run
) -> None:
    words = (IN_SCOPE, BROKEN, STOPPED), (IN_SCOPE, BROKEN), (ALLOWED,)
    lines = b""
    for number, session in enumerate(words):
        for place, word in enumerate(session):
            name = f"01JD3Z8QK5W7M2X9V4T6BBBB{number}{place}"
            lines += line_of(Event(name, "2026-10-05T10:00:00Z", word, RULE, f"s{number}"))
    for clone in ("aaaa1111", "bbbb2222"):
        put_file(knowledge / f".ai-lessons/events/{clone}/2026-10.jsonl", lines)
    put_file(knowledge / ".ai-lessons/events/cccc3333/2026-10.jsonl", b'{"id": 7}\nno JSON\n')
    done = run("admin", "report", "--json")
    (row,) = done.json["by_month"]
    figures = [row[name] for name in ("in_scope", "broken", "stopped", "would_stop", "allowed")]
    assert (row["month"], figures, row["title"]) == ("2026-10", [3, 2, 1, 1, 1], "")
    assert "2 lines of the logs of events cannot be read" in done.json["notes"]
    shown = run("admin", "report").out.splitlines()
    assert shown[0] == "0 runs of `check` in 0 projects, and 3 sessions of agents"
    assert re.split(r"  +", shown[2])[:3] == ["2026-10", HANDLE, "-"]


def test_the_page_needs_nothing_else_runs_nothing_and_replaces_no_file_of_others(
    knowledge: Path, run: Run, tmp_path: Path
) -> None:
    hostile = "<script>alert(1)</script>\u202e\x1b[31m & <img src=x onerror=y>"
    report = stated()
    report["by_rule"][0] |= {"id": OTHER, "title": hostile}
    file = written(tmp_path, "r.json", by_rule=report["by_rule"], project=hostile)
    target = tmp_path / "rules.html"
    done = run("admin", "report", file, "--html", target)
    assert (done.code, f"written to {target}" in done.err) == (0, True)
    text = target.read_text()
    tags: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, _attrs: object) -> None:
            tags.append(tag)

    Tags().feed(text)
    assert "table" in tags
    assert not {"script", "img", "link", "iframe", "a", "form"} & set(tags)
    assert not re.search(r"https?:|url\(|@import|\x1b|\u202e", text)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "\x1b" not in run("admin", "report", file).out
    assert run("admin", "report", file, "--html", target).code == 0, "a page of ours is made anew"
    mine = put_file(tmp_path / "mine.html", "<p>mine</p>")
    refused = run("admin", "report", file, "--html", mine)
    assert (refused.code, mine.read_text()) == (8, "<p>mine</p>")
    assert "no page that this command made" in refused.err


def test_every_file_that_is_no_report_is_named_with_why_and_nothing_is_added_up(
    knowledge: Path, run: Run, tmp_path: Path
) -> None:
    wrong = {
        "text": "no JSON", "deep": "[" * 200_000, "list": "[]", "other": '{"a": 1}',
        "old": '{"findings": [], "files": 1}',
        "sarif": json.dumps({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "bandit"}}}]}),
        "former": json.dumps({"runs": [{"tool": {"driver": {"name": "ai-lessons", "rules": []}}}]}),
        "when": json.dumps(stated(at="yesterday")), "number": json.dumps(stated(at=7)),
        "commit": json.dumps(stated(revision="HEAD")), "warn": json.dumps(stated(warn="no")),
        "rules": json.dumps(stated(by_rule={})), "many": json.dumps(stated(by_rule=[1] * 10_001)),
        "id": json.dumps(stated(by_rule=[{"id": "R-1"}])), "huge": " " * (33 << 20),
    }  # fmt: skip
    for name, value in (("minus", -1), ("true", True), ("half", 0.5), ("endless", 10**400)):
        wrong[name] = json.dumps(stated(by_rule=[stated()["by_rule"][0] | {"broken": value}]))
    files = [put_file(tmp_path / f"{name}.json", text) for name, text in wrong.items()]
    done = run("admin", "report", *files, written(tmp_path, "good.json"))
    assert (done.code, done.out) == (4, "")
    lines = done.err.splitlines()
    for name in wrong:
        assert sum(f"/{name}.json:1: " in line for line in lines) == 1, name
    assert "good.json" not in done.err
    assert "old.json:1: no report of `ai-lessons check`: an older program made it" in done.err
    assert "former.json:1: no report of `ai-lessons check`: an older program made it" in done.err
    assert (
        "sarif.json:1: no report of `ai-lessons check`: it reports no run of ai-lessons" in done.err
    )
    assert "hint: leave them out, or make them anew" in done.err
    assert run("admin", "report", tmp_path / "missing.json").code == 3


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["runs", "by_rule", "tool", "driver", "rules", "properties", "at", "id", "x"]), inner, max_size=5
    ),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_any_json_is_a_report_or_is_refused_in_words(value: Any) -> None:
    assert_read_or_refused(json.dumps(value).encode())


@given(st.data(), JSON)
def test_a_report_in_which_anything_is_replaced_is_a_report_or_is_refused_in_words(
    data: st.DataObject, value: Any
) -> None:
    report: Any = json.loads(json.dumps(stated()))
    if data.draw(st.booleans()):
        report = as_sarif(of_rules([CheckedRule(RULE, HANDLE, "x", "error", 1, 1, 0)]))
    place = report
    while isinstance(place, dict | list) and place:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or data.draw(st.booleans()):
            place[key] = value
            break
        place = place[key]
    assert_read_or_refused(json.dumps(report).encode())


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_in_words(data: bytes) -> None:
    assert_read_or_refused(data)


def assert_read_or_refused(data: bytes) -> None:
    try:
        runs = runs_in(data)
    except NoReport as refused:
        why = str(refused)
        runs = []
    else:
        why = "read"
    assert why
    sums = Sums()
    sums.add_runs(runs)
    page.drawn(sums.report({})).encode()


def of_rules(rules: list[CheckedRule]) -> CheckReport:
    return CheckReport(
        (),
        files=1,
        rules=len(rules),
        by_rule=tuple(rules),
        project="shop",
        at=AT,
        revision="b" * 40,
    )


COUNTS = st.integers(0, 10**9)
CHECKED = st.builds(
    CheckedRule, st.sampled_from([RULE, OTHER]), st.just(HANDLE), st.text(max_size=20), st.just("error"), COUNTS, COUNTS,
    COUNTS,
)  # fmt: skip


@given(st.lists(CHECKED, max_size=2, unique_by=lambda rule: rule.id), st.booleans())
def test_what_check_writes_is_read_back_from_json(rules: list[CheckedRule], warn: bool) -> None:
    report = of_rules(rules)._replace(warn=warn)
    (read,) = runs_in(output.dump(report).encode())
    assert (read.project, read.at, read.warn, read.revision) == ("shop", AT, warn, "b" * 40)
    seen = [(rule.id, rule.in_scope, rule.broken, rule.allowed) for rule in read.rules]
    assert seen == [(rule.id, rule.in_scope, rule.broken, rule.allowed) for rule in rules]


RUNS = st.lists(
    st.builds(
        CheckRun, st.sampled_from(["shop", "till"]), st.sampled_from(["", "a" * 40, "b" * 40]),
        st.sampled_from([AT, "2026-12-01T00:00:00Z"]), st.booleans(),
        st.lists(
            st.builds(RuleInRun, st.sampled_from([RULE, OTHER]), st.just("x"), *[st.integers(0, 2)] * 3),
            max_size=2, unique_by=lambda rule: rule.id,
        ).map(tuple),
    ),
    max_size=6,
)  # fmt: skip
EVENTS = st.lists(
    st.builds(
        Event, st.integers(0, 9).map(str), st.just(AT), st.sampled_from([IN_SCOPE, BROKEN, STOPPED, ALLOWED]),
        st.sampled_from([RULE, OTHER]), st.sampled_from(["", "s", "t"]),
    ),
    max_size=8,
)  # fmt: skip


def summed(runs: list[CheckRun], events: list[Event]) -> RulesReport:
    sums = Sums()
    sums.add_runs(runs)
    sums.add_events(events, "log")
    return sums.report({})


@given(RUNS, EVENTS)
def test_no_figure_is_more_than_what_it_is_a_part_of_and_nothing_counts_twice(
    runs: list[CheckRun], events: list[Event]
) -> None:
    report = summed(runs, events)
    assert report.runs + report.repeated == len(runs)
    for row in (*report.totals, *report.by_month):
        assert row.broken <= row.in_scope <= report.runs + report.sessions
        assert row.allowed <= row.in_scope
        assert row.broken - row.stopped <= row.would_stop <= row.broken
    for total in report.totals:
        months = [row for row in report.by_month if row.id == total.id]
        assert total.broken <= sum(row.broken for row in months)
        assert total.in_scope >= max(row.in_scope for row in months)
    named = [run for run in runs if run.revision]
    assert summed(named, events).totals == summed([*named, *named], [*events, *events]).totals
