"""The helper that stays in memory: the same answers as without it, and nobody is kept waiting whatever happens."""

import json
import os
import pickle
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ai_lessons.app import daemon_client, entries, vector_progress
from ai_lessons.app.answers import ContextQuery, Query
from ai_lessons.app.options import Options
from ai_lessons.app.reusable_library import ReusableLibrary
from ai_lessons.app.workspace import Library
from ai_lessons.errors import AiLessonsError
from ai_lessons.interfaces import agent_hook, output, text
from ai_lessons.interfaces.daemon import Helper
from ai_lessons.interfaces.output import View
from ai_lessons.model import Places, TierPlace
from ai_lessons.model.edits import Edit
from ai_lessons.model.entries import Filter, Kind
from ai_lessons.search.index import REFRESH
from ai_lessons.settings import load
from app.world import CountingEmbedder, lesson
from interfaces.world import PATIENT, PROGRAM, Run, environment
from real_world import FULL, Git, failing, instead, put_file

SECONDS = 60.0
"""Until a test gives up waiting."""

WORDS = ("apples", "pears", "orchard", "harvest", "deploy", "rollback")


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder whose path is short enough for a socket; a helper may be used there."""
    folder = Path(tempfile.mkdtemp(prefix="w"))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    monkeypatch.setenv("AI_LESSONS_WARM", "1")
    yield folder / "ai-lessons"
    for lock in folder.rglob("*.lock"):
        with suppress(ValueError, ProcessLookupError):
            if (pid := int(lock.read_text())) != os.getpid():
                os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder)


@contextmanager
def serving(place: Path) -> Iterator[Helper]:
    """A helper with its real socket, in a thread of this process."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        helper = Helper(place, listener, look=0.02)
        helper.most_held = 1 << 40
        thread = threading.Thread(target=helper.run)
        thread.start()
        try:
            yield helper
        finally:
            place.unlink(missing_ok=True)
            thread.join()
            helper.jobs.shutdown()
            while helper.kept:
                helper.close_least_used()


@dataclass
class Both:
    """One caller, answered by a helper and alone."""

    root: Path
    options: Options
    helper: Helper

    @property
    def place(self) -> Path:
        return self.options.state_dir / "warm" / daemon_client.program()

    def write(self, path: str, text: str) -> None:
        put_file(self.root / path, text)

    def ask(self, name: str, *asked: object, **how: object) -> Any:
        """Of the helper; one that does not answer is an error of the test."""

        def opened() -> Library:
            raise AssertionError("the helper did not answer")

        return daemon_client.DaemonClient(self.root, self.options, opened)(name, *asked, **how)

    def alone(self, name: str, *asked: object, **how: object) -> Any:
        with Library(self.root, self.options._replace(warm=None)) as opened:
            return daemon_client.job(name)(opened, *asked, **how)

    def same(self, name: str, *asked: object, **how: object) -> Any:
        """The answer; None where it is an error, which the helper leaves to the caller."""
        before = self.helper.requests
        try:
            alone = self.alone(name, *asked, **how)
        except AiLessonsError:
            with pytest.raises(AssertionError, match="did not answer"):
                self.ask(name, *asked, **how)
            return None
        found = self.ask(name, *asked, **how)
        assert self.helper.requests == before + 1
        assert (
            "\n".join(
                unified_diff(output.dump(alone).splitlines(), output.dump(found).splitlines(), n=0)
            )
            == ""
        )
        return found


@pytest.fixture
def both(
    git_repo: Path, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closing: ExitStack
) -> Iterator[Both]:
    closing.enter_context(
        instead(
            "ai_lessons.app.search_index.Embedders.embedder", lambda _, _name: CountingEmbedder()
        )
    )
    waits = daemon_client.PATIENT._replace(greeting=SECONDS, lifeless=SECONDS)
    monkeypatch.setattr(daemon_client, "PATIENT", waits)
    options = Options(
        tmp_path / "cache", state, tmp_path / "config", tmp_path, offline=True, warm=state / "warm"
    )
    with serving(state / "warm" / daemon_client.program()) as helper:
        yield Both(git_repo, options, helper)


queries = st.builds(
    Query,
    text=st.lists(
        st.sampled_from((*WORDS, '"apples pears"', "kind:doc", "tag:fruit")), min_size=1, max_size=3
    ).map(" ".join),
    filters=st.builds(
        Filter,
        kinds=st.sets(st.sampled_from(list(Kind)), max_size=2).map(frozenset),
        project=st.sampled_from((None, "garden", "notes", "nowhere")),
        tags=st.sampled_from(((), ("fruit",))),
    ),
    context_tags=st.sampled_from(({}, {"fruit": None}, {"garden": 2.0})),
    limit=st.integers(1, 4),
    explain=st.booleans(),
    approvals=st.booleans(),
    every=st.booleans(),
    plain=st.booleans(),
)
edits = st.tuples(
    st.sampled_from(("notes/a.md", "garden/b.md", "garden/c.md")), st.sampled_from((None, *WORDS))
)


@pytest.mark.parametrize("tiers", [1, 2])
def test_every_answer_is_the_same_in_the_same_bytes(
    both: Both, tiers: int, tmp_path: Path, git: Git
) -> None:
    if tiers == 2:
        other = tmp_path / "other"
        git(tmp_path, "clone", "-q", str(both.root), str(other))
        (other / "pears.md").write_text("# Pears\n\nThe harvest of pears in another orchard.\n")
        reads = (TierPlace("project", both.root), TierPlace("user", other))
        both.options = both.options._replace(tier="project", places=Places(reads, reads))
    both.write("garden/lessons/apple.md", lesson(title="Apples rot in the orchard", tags="[fruit]"))

    @settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
    @given(query=queries, edit=edits)
    def check(query: Query, edit: tuple[str, str | None]) -> None:
        path, word = edit
        if word:
            both.write(path, f"# About {word}\n\nThe {word} of the orchard, and apples pears.\n")
        else:
            (both.root / path).unlink(missing_ok=True)
        found = both.same("search", query)
        if found is None:
            return
        assert text.answer(found, View()) == text.answer(both.alone("search", query), View())
        both.same(
            "context", ContextQuery(query=query.text, project=query.filters.project, budget=3)
        )

    check()
    both.same("search", Query("apples", Filter(frozenset({Kind.LESSON})), limit=3))
    both.same(
        "before_a_tool",
        ("src/a.py",),
        "garden rake",
        (str(tmp_path),),
        (),
        [Edit("src/a.py", "", "apples")],
    )
    both.same("at_a_prompt", "why do apples rot in the orchard", ())
    both.same("at_a_failure", "$ garden rake\nfatal: no rake in the orchard")
    both.same("at_the_start", tmp_path / "garden")


def test_a_helper_answers_while_the_caller_does_something_else(both: Both) -> None:
    both.write("notes/lessons/apple.md", lesson(title="Apples rot in the orchard"))
    client = daemon_client.DaemonClient(
        both.root, both.options, lambda: pytest.fail("the helper did not answer")
    )
    finish = client.begin_if_warm("near_copies", "Apples rot in the orchard")
    both.write("notes/a.md", "# Pears\n")
    assert [note.partition(", ")[0] for note in finish().values()] == [
        "close to L-8F3K2A 'Apples rot in the orchard'"
    ]


def test_vectors_that_are_missing_come_by_themselves_and_settings_hold_for_the_next_answer(
    both: Both,
) -> None:
    for number in range(REFRESH.few + 1):  # so many that a search does not wait for them
        both.write(f"notes/{number}.md", f"# {number}\n\nAbout apples.\n")
    first = both.ask("search", Query("apples"))
    assert first.coverage == 0.0
    assert any(
        note.startswith(f"0 % of the passages have a vector; {REFRESH.few + 1} are found")
        for note in first.notes
    )
    wait(lambda: both.ask("search", Query("apples")).coverage == 1.0)
    assert both.ask("search", Query("apples")).notes == ()
    both.write(".ai-lessons/config.yaml", "format: 1\nsearch:\n  model: nobody/has-it\n")
    assert any("nobody/has-it" in note for note in both.same("search", Query("apples")).notes)


def test_servers_leave_searches_to_one_helper_and_open_no_index(both: Both) -> None:
    both.write("notes/a.md", "# Apples\n\nAbout apples.\n")
    with Library(both.root, both.options) as held:
        asking = daemon_client.DaemonClient(both.root, both.options, lambda: held, held=True)
        assert "Apples" in str(asking("search", Query("apples")))
        assert both.helper.requests > 0
        assert not held.has_index


def test_a_server_whose_helper_does_not_come_searches_itself_and_waits_once(
    both: Both, monkeypatch: pytest.MonkeyPatch, closing: ExitStack
) -> None:
    closing.enter_context(instead("ai_lessons.git.processes.leave_running", lambda *_, **__: None))
    monkeypatch.setattr(daemon_client, "PATIENT", daemon_client.PATIENT._replace(coming=0.1))
    both.write("notes/a.md", "# Apples\n\nAbout apples.\n")
    with Library(both.root, both.options._replace(warm=both.root.parent / "nowhere")) as held:
        asking = daemon_client.DaemonClient(both.root, held.options, lambda: held, held=True)
        assert "Apples" in str(asking("search", Query("apples")))
        assert held.has_index
        assert not held.waits_for_helper


def test_many_ask_at_once_and_each_is_answered(both: Both) -> None:
    both.write("notes/a.md", "# Apples\n")
    expected = both.ask("search", Query("apples"))
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(both.ask("search", Query("apples"))))
        for _ in range(30)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 30


def test_what_fails_or_is_no_job_is_left_to_the_caller_and_only_values_of_ours_travel(
    both: Both,
) -> None:
    for name in ("search", "os.system", "write"):
        with pytest.raises((AssertionError, KeyError)):
            both.ask(name, Query(""))
    for bad in (os.system, subprocess.Popen, sys.exit, threading.Thread):
        with pytest.raises(pickle.UnpicklingError):
            daemon_client.unpacked(pickle.dumps(bad))
    options = Options(Path("a"), Path("b"), Path("c"), Path("d"))._asdict()
    value = (Query("x", Filter(frozenset({Kind.DOC}))), {"place": options["cwd"]}, Places())
    assert daemon_client.unpacked(pickle.dumps(value)) == value


def test_it_ends_when_idle_when_the_program_changes_and_when_its_folder_goes(both: Both) -> None:
    helper = both.helper
    helper.look = 1e9
    assert not helper.over()
    helper.idle = 0.0
    assert helper.over()
    helper.idle = 1e9
    with instead("ai_lessons.app.daemon_client.program", lambda: "another version"):
        assert helper.over()
    place = both.place
    place.unlink()
    assert helper.over()
    place.touch()
    assert helper.over()
    helper.look = 0.0


def test_with_too_much_memory_the_least_used_repository_goes_first(both: Both) -> None:
    both.write("notes/a.md", "# Apples\n")
    both.ask("search", Query("apples"))
    both.helper.look = both.helper.idle = 1e9
    time.sleep(0.1)
    both.helper.most_held = 0
    assert not both.helper.over()
    wait(lambda: not both.helper.kept)
    assert both.helper.over()
    both.helper.look = 0.0


def test_a_folder_that_others_can_enter_and_a_user_that_is_not_ours_are_refused(
    both: Both, closing: ExitStack
) -> None:
    folder = both.options.state_dir / "warm"
    started: list[object] = []
    closing.enter_context(
        instead("ai_lessons.git.processes.leave_running", lambda *_, **__: started.append(1))
    )

    def refused() -> None:
        with pytest.raises(daemon_client.DaemonUnavailable):
            daemon_client.ask(both.place, None, daemon_client.STATUS)

    for mode in (0o755, 0o770, 0o701):
        folder.chmod(mode)
        refused()
        daemon_client.start(folder / daemon_client.program(), None)
        assert started == []
    folder.chmod(0o700)
    for _ in range(3):
        daemon_client.start(folder / "another", None)
    assert started == [1], "never two within a moment"
    if os.geteuid() == 0:
        os.chown(folder, 12345, -1)
        refused()
        os.chown(folder, 0, -1)
    with instead("ai_lessons.app.daemon_client.ours", lambda _line: False):
        refused()
    assert both.helper.requests == 0


def test_on_a_mac_the_user_is_the_second_word_of_what_the_system_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    class Line:
        """A socket as macOS has it: `struct xucred` is version, user, number of groups (2 bytes), 16 groups."""

        def __init__(self, user: int) -> None:
            self.user = user

        def getsockopt(self, level: int, name: int, size: int) -> bytes:
            assert (level, name, size) == (0, 1, struct.calcsize("IIh16I"))
            return struct.pack("IIh16I", 0, self.user, 1, 20, *[0] * 15)

    assert daemon_client.ours(cast("socket.socket", Line(os.geteuid())))
    assert not daemon_client.ours(cast("socket.socket", Line(os.geteuid() + 1)))


def test_a_full_disk_and_a_file_in_the_way_stop_no_search(
    run: Run, knowledge: Path, state: Path, closing: ExitStack
) -> None:
    closing.enter_context(failing("ai_lessons.git.processes.leave_running", FULL))
    assert run("recall", "search", "workflow").code == 0
    shutil.rmtree(state / "warm")
    (state / "warm").write_text("a file")
    assert run("recall", "search", "workflow").code == 0
    assert run("admin", "warm", "status").out == "No helper runs.\n"


def test_off_by_environment_by_settings_and_in_ci(
    run: Run, knowledge: Path, state: Path, hermetic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = hermetic / ".config/ai-lessons/config.toml"
    for environ, toml, expected in (
        ({"AI_LESSONS_WARM": "0"}, "", "off"),
        ({}, "[warm]\nenabled = false\n", "off"),
        ({"CI": "true"}, "", "off"),
        ({"CI": "true"}, "[warm]\nenabled = true\n", "none"),
        ({}, "", "none"),
        ({"XDG_STATE_HOME": "/" + "x" * 90}, "", "off"),
        ({"XDG_STATE_HOME": "/" + "x" * 90, "XDG_RUNTIME_DIR": str(state)}, "", "none"),
    ):
        put_file(file, toml)
        with monkeypatch.context() as patch:
            for name in ("AI_LESSONS_WARM", "CI"):
                patch.delenv(name, raising=False)
            for name, value in environ.items():
                patch.setenv(name, value)
            assert (load(os.environ).warm is None) is (expected == "off")
            if expected == "off" and "XDG_STATE_HOME" not in environ:
                assert run("recall", "search", "workflow").code == 0
    file.write_text("[warm]\non = true\n")
    assert "unknown key 'warm.on' is passed over" in run("recall", "list").err
    assert not state.exists() or not list(state.rglob("*.lock"))


def searched(*words: str, **more: str) -> bytes:
    done = subprocess.run(
        [*PROGRAM, "recall", "search", *words],
        env=environment(**more),
        capture_output=True,
        check=True,
    )
    return done.stdout + done.stderr


def wait(done: Callable[[], object], seconds: float = SECONDS) -> None:
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.05)


SAID = "fatal: The current branch cart has no upstream branch."
FAILS_OFTEN = """pattern:
  when: running `git push`
  do: run `git push -u origin HEAD`
  because: a new branch has no upstream
seen:
  calls: 9
  failures: 9
  sessions: 5
"""
LESSON_OF_IT = f"Set it once: `git push -u origin HEAD`.\n\n~~~\n$ git push\n{SAID}\n~~~\n"


PUSH: dict[str, object] = {"tool_name": "Bash", "tool_input": {"command": "git push"}}
EVENTS: tuple[tuple[dict[str, object], str], ...] = (
    ({"hook_event_name": "SessionStart", "source": "startup"}, "Knowledge base for every project"),
    ({"hook_event_name": "PreToolUse"} | PUSH, "has no upstream"),
    ({"hook_event_name": "PostToolUseFailure", "error": SAID} | PUSH, "has no upstream"),
    ({"hook_event_name": "PreToolUse"} | PUSH | {"tool_input": {"command": "make"}}, ""),
    ({"hook_event_name": "Stop"}, ""),
    ({"hook_event_name": "Notification"}, ""),
)


def heard(both: Both, asked: tuple[object, ...]) -> Any:
    """The helper's answer to a hook; on a busy machine its thread may begin later than a hook waits."""
    for _ in range(100):
        with suppress(daemon_client.DaemonUnavailable):
            return daemon_client.ask(both.place, asked, daemon_client.HOOK)
    raise daemon_client.DaemonUnavailable


def test_a_hook_is_answered_by_the_helper_as_it_answers_itself(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    both.write(
        "global/lessons/a.md",
        f"---\nkind: lesson\ntitle: No upstream\n{FAILS_OFTEN}---\n{LESSON_OF_IT}",
    )
    monkeypatch.setenv("AI_LESSONS_REPO", str(both.root))
    environ, told_so_far = dict(os.environ), 0
    monkeypatch.setenv("AI_LESSONS_WARM", "0")
    for number, (event, told) in enumerate(EVENTS):
        first, second = (
            json.dumps({"session_id": f"{name}{number}", "cwd": str(both.root)} | event).encode()
            for name in "ab"
        )
        asked = first, environ, str(both.root), time.monotonic()
        answered = heard(both, asked)
        assert (told in answered, bool(told)) == (True, bool(answered))
        again = heard(both, asked)
        assert again in {answered, ""}  # told once a session
        both.helper.kept.clear()
        assert agent_hook.run(data=second) == answered
        told_so_far += 2 * ("no upstream" in told)
        with Library(both.root, both.options) as opened:
            shown = entries.show(opened, "global/lessons/a.md").entry.id
            written = b"".join(file.read() for file in opened.primary.events.log.files())
        rows = [row for row in written.split(b"\n") if b'"event":"injected"' in row]
        assert len([row for row in rows if shown.encode() in row]) == told_so_far


def test_the_program_asks_the_helper_and_does_it_alone_where_there_is_none(both: Both) -> None:
    both.write("git/lessons/a.md", f"---\nkind: lesson\ntitle: No upstream\n---\n{LESSON_OF_IT}")

    def hook(session: str) -> str:
        env = environment(AI_LESSONS_REPO=str(both.root))
        argv = [*PATIENT, "admin", "agent-hook"]
        event = failed(session, both.root)
        done = subprocess.run(
            argv, input=event, env=env, capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
        return done.stdout

    told = hook("s1")
    assert ("No upstream" in told, both.helper.requests) == (True, 1)
    both.place.unlink()
    assert hook("s2") == told


def failed(session: str, root: Path) -> str:
    event = {
        "hook_event_name": "PostToolUseFailure",
        "session_id": session,
        "cwd": str(root),
        "error": SAID,
    }
    return json.dumps(event | PUSH)


def test_a_hook_does_not_wait_for_a_helper_that_is_at_other_work_or_that_the_settings_forbid(
    both: Both, tmp_path: Path
) -> None:
    both.write("git/lessons/a.md", f"---\nkind: lesson\ntitle: No upstream\n---\n{LESSON_OF_IT}")
    environ = {**os.environ, "AI_LESSONS_REPO": str(both.root)}
    for name in ("AI_LESSONS_WARM", "CI"):  # either would decide before the settings
        environ.pop(name, None)
    asked = failed("s1", both.root).encode(), environ, str(both.root), time.monotonic()
    forbidden = {
        "AI_LESSONS_CONFIG": str(put_file(tmp_path / "config.toml", "[warm]\nenabled = false\n"))
    }
    with pytest.raises(daemon_client.DaemonUnavailable):
        daemon_client.ask(
            both.place, (asked[0], environ | forbidden, *asked[2:]), daemon_client.HOOK
        )
    busy = threading.Event()
    both.helper.jobs.submit(busy.wait)
    with pytest.raises(daemon_client.DaemonUnavailable):
        daemon_client.ask(both.place, asked, daemon_client.HOOK)
    busy.set()
    assert "No upstream" in heard(both, asked), "what was not answered does not count as told"


def test_a_first_hook_answers_from_words_and_leaves_what_takes_long_to_a_helper_that_it_starts(
    run: Run, knowledge: Path, state: Path
) -> None:
    put_file(
        knowledge / "git/lessons/a.md",
        f"---\nkind: lesson\ntitle: No upstream\n---\n{LESSON_OF_IT}",
    )
    code = "import sys; from ai_lessons.interfaces import agent_hook as h; h.WORK = float(sys.argv[1]); print(h.run())"

    def hook(work: float, event: str) -> str:
        argv = [sys.executable, "-c", code, str(work)]
        return subprocess.run(
            argv, input=event, env=environment(), capture_output=True, text=True, check=True
        ).stdout

    begin = json.dumps(
        {"hook_event_name": "SessionStart", "session_id": "s0", "cwd": str(knowledge)}
    )
    assert "Knowledge base for every project" in hook(0.001, begin)
    wait(lambda: bool(run("admin", "warm", "status", "--json").json))
    assert run("admin", "warm", "stop").code == 0  # or it may be at hand already, and answer
    assert hook(0.001, failed("s1", knowledge)) == "\n"
    assert "No upstream" in hook(60.0, failed("s1", knowledge))
    log = (state / "agent-hooks.log").read_text()
    assert "begin: there is more to read than a hook may take time for" in log
    assert "tool-failed: nothing was compared by meaning" in log


def test_a_helper_is_started_used_killed_stopped_and_started_again(
    run: Run, knowledge: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def patient(seconds: float) -> None:
        waits = daemon_client.PATIENT._replace(greeting=seconds, lifeless=seconds)
        monkeypatch.setattr(daemon_client, "PATIENT", waits)

    def helper() -> dict[str, Any]:
        (one,) = run("admin", "warm", "status", "--json").json or [
            {"state": "none", "requests": -1}
        ]
        return dict(one)

    expected = searched("workflow", "transitions", AI_LESSONS_WARM="0")
    for end in (signal.SIGKILL, signal.SIGSTOP):
        patient(SECONDS)
        assert searched("workflow", "transitions") == expected
        wait(lambda: helper()["requests"] > 0)
        assert oct((state / "warm").stat().st_mode & 0o777) == "0o700"
        assert [oct(one.stat().st_mode & 0o777) for one in (state / "warm").iterdir()] == [
            "0o600"
        ] * 2
        before = helper()
        assert before["repositories"] == [str(knowledge)]
        assert searched("workflow", "transitions") == expected
        os.kill(before["pid"], end)
        if end is signal.SIGSTOP:
            patient(0.1)  # one that is stopped is silent for ever
            assert helper()["state"] == "silent"
            assert searched("workflow", "transitions") == expected
            assert run("admin", "warm", "stop", "--json").json[0]["state"] == "stopped"
        wait(lambda: helper()["state"] == "none")
        for lock in (state / "warm").glob("*.lock"):
            os.utime(lock, (0, 0))  # the last start is long ago


def test_a_helper_that_begins_while_somebody_looks_for_one_is_there_a_moment_later(
    state: Path,
) -> None:
    folder = state / "warm"
    folder.mkdir(parents=True, mode=0o700)
    place = folder / daemon_client.program()
    lock = place.with_suffix(daemon_client.LOCK)
    argv = [sys.executable, "-P", "-m", "ai_lessons.interfaces.daemon", str(place)]
    with daemon_client.claimed(lock):
        helper = subprocess.Popen(argv, stdin=subprocess.PIPE, cwd="/")
        # more than a pipe holds: once it is read, the helper looks at the lock at once
        assert helper.stdin
        helper.stdin.write(b"\0" * (1 << 18))
        helper.stdin.close()
        time.sleep(0.3)
    try:
        wait(place.exists)
        assert lock.read_text() == str(helper.pid)
    finally:
        helper.kill()
        helper.wait()


def test_a_link_that_is_moved_is_followed_at_the_next_question(both: Both, tmp_path: Path) -> None:
    other, link = tmp_path / "other", tmp_path / "link"
    both.write("garden/lessons/a.md", lesson(title="Apples here"))
    shutil.copytree(both.root, other, symlinks=True)
    put_file(other / "garden/lessons/a.md", lesson(title="Apples there"))
    link.symlink_to(both.root)
    mine = replace(both, root=link)
    with ReusableLibrary(lambda: Library(link, both.options)).do(lambda opened: opened) as held:
        assert not held.replaced
        for place, title in (
            (both.root, "Apples here"),
            (other, "Apples there"),
            (both.root, "Apples here"),
        ):
            link.unlink()
            link.symlink_to(place)
            found = mine.ask("search", Query("apples"))
            assert [one.entry.title for one in found.lessons] == [title]
            assert held.replaced is (place == other)


def test_what_is_to_be_done_later_is_taken_at_once_and_vectors_follow(both: Both) -> None:
    for number in range(REFRESH.few + 1):
        both.write(f"notes/{number}.md", f"# {number}\n\nAbout apples.\n")
    daemon_client.have_done(both.root, both.options, "prepare")
    with Library(both.root, both.options) as opened:
        wait(
            lambda: (
                vector_progress.standing(opened.primary)[1]
                == f"{REFRESH.few + 1} of {REFRESH.few + 1} passages have a vector"
            )
        )
    assert both.ask("search", Query("apples")).coverage == 1.0


def test_one_that_computes_stays_above_its_limit_of_memory_and_one_that_has_done_so_ends(
    both: Both,
) -> None:
    helper = both.helper
    helper.look = helper.idle = 1e9
    helper.most_held, helper._fills = 0, True
    assert not helper.over()
    helper._fills = False
    assert helper.over()
    helper._fills, helper.most_filling = True, 0
    assert helper.over(), "whatever it does, there is an end"
    helper.most_held = helper.most_filling = 1 << 40
    helper.look = 0.0


def test_libraries_and_model_are_not_what_it_holds(both: Both) -> None:
    helper, taken = both.helper, list[int]()
    before = helper.base
    with (
        instead("ai_lessons.interfaces.daemon.memory", lambda: 1000 + sum(taken)),
        helper._weighed(),
    ):
        taken.append(500)
    assert helper.base == before + 500


FILLING = """
from hashlib import shake_128
import numpy as np
from ai_lessons.app.search_index import Embedders
from ai_lessons.interfaces import daemon

class Quick:
    name, dimensions = "bge-small-en-v1.5-int8", 384

    def embed(self, texts):
        for text in texts:
            yield np.frombuffer(shake_128(text.encode()).digest(384), dtype=np.int8).astype(np.float32) / 1500

    def embed_query(self, text):
        return next(self.embed([text]))

    def reads(self, text):
        return 1.0

Embedders._load = lambda self, name: Quick()
daemon.main()
"""


def test_a_helper_fills_five_thousand_passages_without_a_further_question(
    git_repo: Path, state: Path, tmp_path: Path
) -> None:
    for number in range(100):
        parts = "".join(
            f"## Part {part}\n\n{' '.join(f'word{(number * part + n) % 977}' for n in range(120))}.\n\n"
            for part in range(50)
        )
        put_file(git_repo / f"notes/docs/unversioned/{number}.md", f"# Page {number}\n\n{parts}")
    options = Options(
        tmp_path / "cache", state, tmp_path / "config", tmp_path, offline=True, warm=state / "warm"
    )
    place = state / "warm" / daemon_client.program()
    place.parent.mkdir(parents=True, mode=0o700)
    request = pickle.dumps((git_repo, daemon_client.travelling(options), False, "prepare", (), {}))
    argv = [sys.executable, "-c", FILLING, str(place)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, env=environment()) as helper:
        assert helper.stdin is not None
        helper.stdin.write(request)
        helper.stdin.close()
        with Library(git_repo, options) as opened:
            repo = opened.primary

            def is_done() -> bool:
                assert helper.poll() is None, "it ended before it was done"
                detail = vector_progress.standing(repo)[1]
                return detail.startswith("5,") and detail.split()[0] == detail.split()[2]

            repo.current()
            wait(is_done, 10 * SECONDS)
        helper.kill()
