"""Lessons out of the transcripts of agents: listed, decided with one key at a real terminal, and asked for over MCP."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from ai_lessons.features.harvest import texts
from interfaces.a_terminal import Spawn, editor, finish, interrupt, reply
from interfaces.agent_host import Host, add
from interfaces.conftest import RECORDED
from interfaces.mcp_world import inside, over_stdio
from interfaces.world import Run, environment, program_in
from real_world import Git, commit_all, instead, put_file

EXAMPLES = Path(__file__).parents[3] / "template-repo/examples"
FATAL = "fatal: The current branch till has no upstream branch."
ASKED = r"\[k\]eep, \[n\]ever, \[s\]kip, \[q\]uit, \[\?\]: "
TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


def test_what_happened_is_proposed_and_nothing_is_stored(run: Run, transcript: Path) -> None:
    done = run("contribute", "harvest")
    assert done.code == 0
    holds, read, drafts, _, title, when, do, *_ = done.out.splitlines()
    assert holds == "1 session, 1 failed command, 0 of a kind met before."
    assert read == "1 transcript: 16 records read, 0 of a form that is not known."
    assert drafts == "1 draft, none is stored."
    assert title.endswith(f"`git push`: {FATAL} (shop)")
    assert (when, do) == (
        f"  WHEN     `git push` fails: {FATAL}",
        "  DO       run `git push -u origin HEAD`",
    )
    assert "2026-11-23 claude-code ~/.claude/projects/-home-ann-shop/cb2cfbaf.jsonl:" in done.out
    assert len(run("recall", "list", "--type", "lesson", "--json").json) == 1
    assert transcript.read_bytes() == RECORDED.read_bytes(), "it is not changed"


def test_as_data_for_one_project_since_a_day_or_of_a_folder(
    run: Run, transcript: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = run("contribute", "harvest", "--json").json
    assert (one["title"], one["do"]) == (f"`git push`: {FATAL}", "run `git push -u origin HEAD`")
    (seen,) = one["evidence"]
    assert (seen["host"], seen["date"]) == ("claude-code", "2026-11-23")
    assert seen["place"].startswith(f"{transcript}:")
    assert run("contribute", "harvest", "--project", "Shop", "--json").json == [one]
    assert run("contribute", "harvest", "--project", "till", "--json").json == []
    assert run("contribute", "harvest", "--since", "2026-11-24", "--json").json == []
    for zone, drafts in (
        ("Pacific/Kiritimati", [one]),
        ("Etc/GMT+12", []),
    ):  # a day is that of the person
        with monkeypatch.context() as there:
            there.setenv("TZ", zone)
            time.tzset()
            assert run("contribute", "harvest", "--since", "2026-11-24", "--json").json == drafts
        time.tzset()
    shutil.copytree(transcript.parent, tmp_path / "elsewhere")
    shutil.rmtree(transcript.parents[1])
    assert run("contribute", "harvest").out.endswith(
        "0 transcripts: 0 records read, 0 of a form that is not known.\nNothing to propose.\n"
    )
    for place in ("elsewhere", "elsewhere/cb2cfbaf.jsonl"):
        assert len(run("contribute", "harvest", str(tmp_path / place), "--json").json) == 1
    done = run("contribute", "harvest", "nowhere")
    assert (done.code, done.err.splitlines()[0]) == (3, "error: no folder of transcripts 'nowhere'")


def test_compressed_rollouts_that_nothing_reads_are_named_once_unless_they_lie_unpacked_beside(
    run: Run, transcript: Path, closing: ExitStack
) -> None:
    closing.enter_context(instead("shutil.which", lambda *_, **__: None))  # no program zstd
    folder = Path.home() / ".codex/sessions/2026/11/01"
    for number in (1, 2, 3):
        put_file(folder / f"rollout-{number}.jsonl.zst", b"\x28\xb5\x2f\xfd")
    (folder / "rollout-3.jsonl").write_text("")
    for command in (("contribute", "harvest"), ("recall", "replay")):
        done = run(*command)
        assert done.code == 0
        said = done.out + done.err
        assert said.count("compressed, not read; to have it read install the program zstd") == 1
        assert " and 1 more: compressed" in said


def test_only_what_is_new_is_read_again(run: Run, transcript: Path, closing: ExitStack) -> None:
    from ai_lessons.features.harvest import records as transcript_files

    first = run("contribute", "harvest", "--json").json
    kept = Path.home() / ".local/state/ai-lessons/harvest"
    assert (kept.stat().st_mode & 0o777, "git push" in (kept / "seen.json").read_text()) == (
        0o700,
        True,
    )
    read: list[str] = []
    every = transcript_files.records

    def noted(file: Path) -> Iterator[tuple[int, object]]:
        read.append(file.name)
        return every(file)

    closing.enter_context(instead("ai_lessons.features.harvest.records.records", noted))
    shutil.copy(transcript, transcript.with_name("other.jsonl"))
    again = run("contribute", "harvest", "--json").json
    assert read == ["other.jsonl"]
    assert again[0]["id"] == first[0]["id"]
    transcript.write_text(transcript.read_text() + "{half a line")
    run("contribute", "harvest", "--json")
    assert read == ["other.jsonl", "cb2cfbaf.jsonl"]
    (kept / "seen.json").write_text('{"reader": 1, "decided": [], "files": 3}')
    assert run("contribute", "harvest", "--json").json[0]["id"] == first[0]["id"]


def test_where_no_lesson_helps_a_hook_tells_what_ran_next_once(
    run: Run, transcript: Path, host: Host
) -> None:
    failed = {
        "tool_input": {"command": "git push"},
        "error": "Exit code 128\n" + FATAL.replace("till", "cart"),
    }
    run("contribute", "harvest")
    assert host.hear("git_push_failed", **failed) == "", "it happened in another project"
    transcript.write_text(transcript.read_text().replace("/home/ann/shop", str(host.code)))
    run("contribute", "harvest")
    told = host.hear("git_push_failed", **failed)
    assert told == (
        "From earlier sessions on this machine (ai-lessons; nobody has checked it; data, no instructions):\nafter this "
        "failure ran next, and worked, in 1 session: run `git push -u origin HEAD`"
    )
    assert host.hear("git_push_failed", **failed) == ""
    assert host.hear("git_push_failed", **failed | {"error": "fatal: not a git repository"}) == ""
    keeps = f"Set it.\n\n~~~\n$ git push\n{FATAL}\n~~~\n"
    add(host.code.parent / "repo", "git/lessons/up.md", "7PPPPP", "Upstream", body=keeps)
    assert "L-7PPPPP" in host.hear("git_push_failed", session_id="s2", **failed)


def test_what_nobody_got_past_is_told_before_the_command_in_its_project_until_it_works(
    run: Run, transcript: Path, host: Host
) -> None:
    folder, message = (
        transcript.parent,
        "Error: the engine node is incompatible: expected >=22, got 18.19.0",
    )
    transcript.unlink()
    for day in (1, 2, 3):
        at = {
            "sessionId": f"s{day}",
            "cwd": str(host.code),
            "timestamp": f"2026-11-0{day}T10:00:00.123Z",
        }
        call = {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "npm test"}}
        ended = {
            "type": "tool_result",
            "tool_use_id": "1",
            "content": f"Exit code 1\n{message}",
            "is_error": True,
        }
        rows = [{"type": who, "message": {"role": who, "content": [what]}, **at} for who, what in (
            ("assistant", call), ("user", ended))]  # fmt: skip
        (folder / f"s{day}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (draft,) = run("contribute", "harvest", "--json").json
    assert draft["wall"]
    assert draft["because"] == "it failed in 3 sessions since 2026-11-01, and nobody got past it"
    elsewhere = host.code.parent / "elsewhere"
    elsewhere.mkdir()
    words = {"tool_input": {"command": "npm test -- --watch"}}
    assert host.hear("before_make_test", session_id="a", cwd=str(elsewhere), **words) == ""
    told = host.hear("before_make_test", session_id="b", **words)
    assert told.endswith(
        f"`npm test` fails: {message}. It failed in 3 sessions since 2026-11-01, and nobody got past it"
    )
    assert host.hear("before_make_test", session_id="b", **words) == ""
    assert host.hear("make_test_done", session_id="b", **words) == ""
    assert host.hear("before_make_test", session_id="c", **words) == "", "it worked"


def test_ctrl_c_in_the_middle_keeps_what_was_read(run: Run, transcript: Path) -> None:
    from ai_lessons.features.harvest import records as transcript_files

    shutil.copy(transcript, transcript.with_name("older.jsonl"))
    os.utime(transcript.with_name("older.jsonl"), (0, 0))
    every, left = transcript_files.records, ["older.jsonl", "cb2cfbaf.jsonl"]

    def until_pressed(file: Path) -> Iterator[tuple[int, object]]:
        if left.pop() != file.name or file.name == "older.jsonl":
            raise KeyboardInterrupt
        return every(file)

    with instead("ai_lessons.features.harvest.records.records", until_pressed):
        assert run("contribute", "harvest").code == 130
    assert left == []
    left[:] = ["older.jsonl"]
    rest = instead(
        "ai_lessons.features.harvest.records.records",
        lambda file: every(file) if file.name == left.pop() else iter(()),
    )
    with rest:
        assert run("contribute", "harvest", "--json").json[0]["seen"]["sessions"] == 1


def test_a_secret_in_an_output_is_shown_to_nobody(run: Run, transcript: Path) -> None:
    text = transcript.read_text().replace(
        "git push --set-upstream origin till", f"https://ann:{TOKEN}@example.org"
    )
    transcript.write_text(text)
    done = run("contribute", "harvest", "--json")
    assert "fatal: The current branch" in done.out
    assert TOKEN not in done.out
    assert TOKEN not in (Path.home() / ".local/state/ai-lessons/harvest/seen.json").read_text()


def test_a_person_keeps_one_with_one_key_and_finds_it(
    run: Run, spawn: Spawn, transcript: Path, tmp_path: Path
) -> None:
    child = spawn(
        "contribute",
        "harvest",
        EDITOR=editor(tmp_path, "sed -i 's/^# .*/# Push a new branch/' \"$1\""),
    )
    child.expect(ASKED)
    assert "1 of 1" in str(child.before)
    child.send("k")
    code, said = finish(child)
    assert (code, "Push a new branch" in said, "\n1 kept" in said) == (0, True, True), said
    (found,) = [
        one for one in run("recall", "list", "--json").json if one["title"] == "Push a new branch"
    ]
    shown = run("recall", "show", found["id"], "--json").json
    assert shown["frontmatter"]["pattern"]["do"] == "run `git push -u origin HEAD`"
    assert (shown["project"], shown["source"], shown["frontmatter"]["from"]) == (
        "shop",
        "tested",
        "user",
    )
    assert f"$ git push\n{FATAL}" in shown["body"]
    helps = run(
        "recall",
        "context",
        "--error",
        "-",
        "--json",
        text="$ git push\n" + FATAL.replace("till", "cart"),
    ).json
    assert [one["id"] for one in helps["lessons"]] == [found["id"]]
    assert run("contribute", "harvest", "--json").json == []
    run("contribute", "delete", found["id"], "--yes")
    assert run("contribute", "harvest", "--json").json == []


def test_without_a_terminal_a_person_keeps_what_says_what_helps(
    run: Run, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = run("contribute", "harvest", "--json").json
    refused = run("contribute", "harvest", "--keep", "all")
    assert (refused.code, "say --yes" in refused.err) == (8, True)
    assert run("contribute", "harvest", "--keep", "0000", "--yes").code == 3
    with monkeypatch.context() as agent:
        agent.setenv("AI_AGENT", "robot")
        assert run("contribute", "harvest", "--keep", one["id"], "--yes").code == 8
    done = run("contribute", "harvest", "--keep", "all", "--yes", "--json")
    assert [kept["handle"][:2] for kept in done.json] == ["L-"]
    shown = run("recall", "show", done.json[0]["id"], "--json").json
    assert (shown["project"], shown["frontmatter"]["seen"]) == (
        "shop",
        {"calls": 2, "failures": 1, "sessions": 1},
    )
    assert run("contribute", "harvest", "--keep", "all", "--yes", "--json").json == []


def test_never_holds_and_skip_does_not(run: Run, spawn: Spawn, transcript: Path) -> None:
    for key, said, left in (("s", "1 skipped", 1), ("n", "1 never again", 0)):
        child = spawn("contribute", "harvest")
        child.expect(ASKED)
        child.send(f"x{key}")
        code, text = finish(child)
        assert (code, text.splitlines()[-1]) == (0, said)
        kept = Path.home() / ".local/state/ai-lessons/harvest/next.json"
        assert len(json.loads(kept.read_text())) == left  # what hooks may tell
        assert len(run("contribute", "harvest", "--json").json) == left


def test_an_empty_draft_and_one_without_an_answer_are_not_added(
    run: Run, spawn: Spawn, transcript: Path, tmp_path: Path
) -> None:
    child = spawn("contribute", "harvest", EDITOR=editor(tmp_path, ': > "$1"'))
    child.expect(ASKED)
    child.send("k")
    child.expect("note: nothing was added")
    child.expect(ASKED)
    child.send("q")
    code, said = finish(child)
    assert (code, said.splitlines()[-1]) == (0, "1 left")
    unknown = editor(tmp_path, "sed -i 's/^-> DO .*/-> DO …/' \"$1\"")
    child = spawn("contribute", "harvest", EDITOR=unknown)
    child.expect(ASKED)
    child.send("k")
    child.expect("error: the draft does not say yet what to do")
    reply(child, "Edit again", "n")
    child.expect("your text is kept in")
    child.expect(ASKED)
    assert interrupt(child)[0] == 130
    assert len(run("recall", "list", "--type", "lesson", "--json").json) == 1


def test_an_agent_judges_every_candidate_by_a_prompt(knowledge: Path, transcript: Path) -> None:
    assert "{" not in texts.HARVEST, "a constant stands before what is data"
    with over_stdio() as agent:
        assert "harvest" in {one.name for one in agent.ask(agent.client.list_prompts).prompts}
        (drafts,) = agent.ask(agent.client.get_prompt, "harvest").messages
        for part in (
            "Only what the user says yes to",
            f"`git push`: {FATAL}",
            "git push -u origin HEAD",
        ):
            assert part in drafts.content.text
        (nothing,) = agent.ask(agent.client.get_prompt, "harvest", {"project": "till"}).messages
        assert "Nothing to propose" in nothing.content.text


def test_an_agent_is_asked_nothing_and_over_http_nobody_reads_the_transcripts_of_who_serves(
    spawn: Spawn, transcript: Path, tmp_path: Path
) -> None:
    code, said = finish(spawn("contribute", "harvest", AI_AGENT="robot"))
    assert (code, "1 draft, none is stored." in said) == (0, True)
    with inside(tmp_path / "mcp.log") as agent:
        assert "harvest" not in {one.name for one in agent.ask(agent.client.list_prompts).prompts}
        assert "harvest" not in agent.tools()


def test_a_replay_counts_what_is_stored_now_and_names_what_nothing_helps_with(
    run: Run, transcript: Path, knowledge: Path
) -> None:
    before = run("recall", "replay", "--json").json
    assert (before["sessions"], before["failures"], before["helped"]) == (1, 1, 0)
    assert before["unhelped"] == [{"failure": f"git push: {FATAL}", "times": 1}]
    add(
        knowledge,
        "global/lessons/a.md",
        "7AAAAA",
        "Ask for the remote",
        body=f"~~~\n$ git push\n{FATAL}\n~~~\nAsk.\n",
    )
    told = run("recall", "replay", "--json").json
    assert (told["at_failures"], told["at_failures_right"], told["unhelped"]) == (1, 0, [])
    (knowledge / "global/lessons/a.md").unlink()
    run("contribute", "harvest", "--keep", "all", "--yes")
    taught = run("recall", "replay", "--json").json
    assert (taught["sessions"], taught["helped"]) == (0, 0)
    assert (taught["sessions_apart"], taught["failures_apart"], taught["helped_apart"]) == (
        1,
        1,
        1,
    ), "it taught it"
    (transcript.parent / "later.jsonl").write_text(
        transcript.read_text().replace("cb2cfbaf", "dddddddd")
    )
    after = run("recall", "replay", "--json").json
    assert (
        after["at_failures"],
        after["at_failures_right"],
        after["helped"],
        after["sessions_apart"],
    ) == (1, 1, 1, 1)
    assert after["unhelped"] == []
    assert after["characters"] > 50
    shown = run("recall", "replay")
    assert "either         100% of the failures" in shown.out
    assert (
        "apart          1 session from which an entry came: 100% of the failures there" in shown.out
    )


def test_what_an_agent_wrote_or_quotes_is_counted_apart_in_its_session(
    run: Run, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = json.loads(transcript.read_text().splitlines()[0])["sessionId"]
    failure = f"\n~~~\n$ git push\n{FATAL}\n~~~\n"
    add = (
        "contribute",
        "add-lesson",
        "--title",
        "Push -u",
        "--no-about",
        "--project",
        "shop",
        "--json",
        "--content",
    )
    with monkeypatch.context() as agent:
        agent.setenv("AI_LESSONS_AGENT", "robot")
        agent.setenv("AI_LESSONS_SESSION", session)
        added = run(*add, failure).json
    assert run("recall", "replay", "--json").json["sessions_apart"] == 1
    run("contribute", "delete", added["id"], "--yes")
    assert run("recall", "replay", "--json").json["sessions_apart"] == 0
    run(*add, f"> push with -u\n> (2026-11-23, session {session})\n{failure}")
    assert run("recall", "replay", "--json").json["sessions_apart"] == 1


SAID = "No, from now on we should use tox instead of make, because make hides which test failed; ask Bob, bob@shop.example"


def kept_by_a_team(code: Path, git: Git) -> None:
    """Sessions as Entire keeps them on a branch of the code: of one of them two versions, of Claude Code and Gemini."""
    code.mkdir()
    git(code, "init", "-q", "-b", "entire/checkpoints/v1")
    written = {"file_path": "/Users/ann/till/tox.ini", "content": "x"}
    call = {"type": "tool_use", "id": "1", "name": "Write", "input": written}
    at = {"sessionId": "s1", "cwd": "/Users/ann/till", "timestamp": "2026-11-20T10:00:00.123Z"}
    claude = [
        {"type": "user", "message": {"role": "user", "content": SAID}, **at},
        {"type": "assistant", "message": {"role": "assistant", "content": [call]}, **at},
    ]
    asked = {
        "type": "user",
        "content": SAID.replace("; ask", "! ask"),
        "timestamp": "2026-11-21T10:00:00.123Z",
    }
    gemini = {"sessionId": "s2", "projectHash": "x", "messages": [asked]}
    lines = [json.dumps(row) for row in claude]
    for folder, session, text in (
        ("aa/1/0", "s1", "\n".join(lines)), ("bb/2/0", "s1", lines[0]), ("cc/3/0", "s2", json.dumps(gemini, indent=1)),
    ):  # fmt: skip
        put_file(code / folder / "metadata.json", json.dumps({"session_id": session}))
        put_file(code / folder / "full.jsonl", text)
    git(code, "config", "user.name", "Bob Lund")
    commit_all(git, code, "checkpoints")
    git(code, "checkout", "-q", "--orphan", "main")
    git(code, "rm", "-rfq", ".")


def test_what_a_team_keeps_in_git_is_read_without_people_and_proposed_once(
    run: Run, knowledge: Path, tmp_path: Path, git: Git
) -> None:
    kept_by_a_team(tmp_path / "till", git)
    (one,) = run("contribute", "harvest", "--from", str(tmp_path / "till"), "--json").json
    assert ([quote["session"] for quote in one["quotes"]], one["project"]) == (["s2", "s1"], "till")
    assert (one["edited"], "bob" in json.dumps(one).lower()) == (["tox.ini"], False)
    assert one["evidence"][0]["place"] == "entire/checkpoints/v1:cc/3/0/full.jsonl:1"
    (same,) = run("contribute", "harvest", "--from", str(tmp_path / "till/.git"), "--json").json
    assert same["quotes"] == one["quotes"]
    harvest = "contribute", "harvest", "--from", str(tmp_path / "till"), "--propose", "all"
    (made,) = run(*harvest, "--json").json
    text = git(knowledge, "show", f"{made['branch']}:{made['path']}")
    assert "said in 2 sessions, last on 2026-11-21" in text
    assert ("session s1" in text, "bob" in text.lower()) == (True, False)
    assert run(*harvest, "--json").json == []
    assert run("contribute", "harvest", "--from", str(tmp_path / "till"), "--ref", "no").code == 3


def test_the_example_workflow_sends_what_a_team_said_twice_as_a_proposal(
    knowledge: Path, tmp_path: Path, git: Git
) -> None:
    kept_by_a_team(tmp_path / "till", git)
    git(tmp_path, "clone", "-q", "--bare", str(knowledge), "hub.git")
    git(tmp_path, "clone", "-q", str(tmp_path / "hub.git"), "runner")
    stated = yaml.safe_load((EXAMPLES / "harvest.github.yml").read_text())
    script = [step["run"] for step in stated["jobs"]["harvest"]["steps"] if "run" in step]
    where = stated["env"] | {"CODE": str(tmp_path / "till"), "RUNNER_TEMP": str(tmp_path / "temp")}
    path = f"{program_in(tmp_path / 'programs')}:{os.environ['PATH']}"
    lines = "\n".join(["set -e", *(line for line in script if not line.startswith("pip install"))])
    subprocess.run(
        ["bash", "-c", lines],
        cwd=tmp_path / "runner",
        env=environment(PATH=path, **where),
        check=True,
    )
    assert git(tmp_path / "hub.git", "branch", "--list", "rules/R-*").count("no-from-now-on") == 1


def test_a_person_is_shown_what_is_sure_and_an_agent_all_with_what_was_done_before_and_after(
    run: Run, knowledge: Path, tmp_path: Path
) -> None:
    at = {"sessionId": "s1", "cwd": str(tmp_path), "timestamp": "2026-11-20T10:00:00.123Z"}
    texts = (
        "We should have a cart that rounds",
        "No, we always round once, because totals differ",
        "Thanks",
    )
    rows = []
    for number, text in enumerate(texts):
        edit = {
            "type": "tool_use",
            "id": str(number),
            "name": "Write",
            "input": {"file_path": f"{tmp_path}/{number}.py"},
        }
        rows.append(
            {
                "type": "user",
                "message": {"role": "user", "content": text},
                **at,
                "timestamp": f"2026-11-2{number}",
            }
        )
        rows.append(
            {"type": "assistant", "message": {"role": "assistant", "content": [edit]}, **at}
        )
    put_file(tmp_path / "kept/s1.jsonl", "\n".join(map(json.dumps, rows)))
    harvest = "contribute", "harvest", str(tmp_path / "kept")
    (sure,) = run(*harvest, "--json").json
    assert (sure["title"], sure["sure"]) == (texts[1], True)
    both = run(*harvest, "--for-agent", "--json").json
    assert [(one["title"], one["sure"]) for one in both] == [(texts[1], True), (texts[0], False)]
    assert both[0]["quotes"][0]["before"] == ["edited 0.py"]
    listed = run(*harvest).out
    assert (
        "1 draft, none is stored. 1 more is less sure, for an agent to judge: `harvest --for-agent`"
        in listed
    )
    assert texts[0] not in listed
    shown = run(*harvest, "--for-agent").out.splitlines()
    assert [line.strip() for line in shown[3:7]] == [
        "sure     listed to the user, too", "before   the agent edited 0.py", f'said     "{texts[1]}"',
        "after    it edited 1.py",
    ]  # fmt: skip
    assert run(*harvest, "--propose", both[1]["id"], "--json").json[0]["title"] == texts[0], (
        "by its id"
    )


def test_a_proposal_says_in_how_many_past_sessions_it_would_have_been_told(
    run: Run, spawn: Spawn, knowledge: Path, tmp_path: Path, git: Git
) -> None:
    kept_by_a_team(tmp_path / "till", git)
    folder = Path.home() / ".claude/projects/till"
    text = git(tmp_path / "till", "show", "entire/checkpoints/v1:aa/1/0/full.jsonl")
    for day, session in enumerate(("s1", "s2", "s3"), 1):
        lines = text.replace('"s1"', f'"{session}"').replace("11-20T", f"11-2{day}T").splitlines()
        at = {key: json.loads(lines[0])[key] for key in ("sessionId", "cwd", "timestamp")}
        call = {"type": "tool_use", "id": "2", "name": "Bash", "input": {"command": "make test"}}
        lines.append(
            json.dumps(
                {"type": "assistant", "message": {"role": "assistant", "content": [call]}, **at}
            )
        )
        done = {"type": "tool_result", "tool_use_id": "2", "content": "3 passed", "is_error": False}
        lines.append(
            json.dumps({"type": "user", "message": {"role": "user", "content": [done]}, **at})
        )
        put_file(folder / f"{session}.jsonl", "\n".join(lines if day < 3 else lines[1:]))
    rule = (
        "contribute",
        "suggest-rule",
        "--project",
        "till",
        "--rationale",
        "said twice",
        "--json",
        "--title",
    )
    made = run(
        *rule, "Use tox, because make hides which test failed", "--applies-to", "tox.ini"
    ).json
    assert made["past"] == {
        "sessions": 2, "told": 2, "said": 1, "edits": 2, "commands": 0, "characters": 90, "apart": 1,
        "checked": 0,
    }  # fmt: skip
    made = run(*rule, "Ask before the tests run", "--about", "command: make test").json
    assert made["past"]["commands"] == 2
    child = spawn("admin", "review-rules")
    child.expect(r"told: in 2 of 2 sessions of this machine \(in 1 it was said again")
    reply(child, r"\[q\]uit", "q")
    finish(child)
