"""Two servers on one repository behind a gateway that sends each request to the other one."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult

from ai_lessons.app.search import PROMPT
from features.gateway.a_gateway import Gateway, gateway_before
from features.gateway.gateway_world import ANN, BO, NAME, Person, write_settings
from interfaces.http_world import PATIENCE, Served, serving, serving_inside, with_headers
from interfaces.mcp_world import Agent, connected
from real_world import Git, put_file

OF = {"ann-pw": ANN, "bo-pw": BO}
GAP = {"query": "xylophone zeppelin quokka"}


@pytest.fixture
def servers(knowledge: Path) -> Iterator[list[Served]]:
    """Two in this process."""
    write_settings()
    folder = knowledge.parent / "callers"
    for number in range(30):
        put_file(folder / f"{number}.md", f"# Page {number}\n\nText.\n")
    with serving_inside(folder) as one, serving_inside(folder) as other:
        yield [one, other]


def through(gateway: Gateway, password: str, **options: Any) -> AbstractContextManager[Agent]:
    """A client of the gateway, which claims to be somebody else."""
    headers = {"Authorization": password, NAME: "Eve", "X-Gateway-Secret": "x"}
    return connected(with_headers(gateway.url, headers), **options)


def author(git: Git, repo: Path, commit: str) -> str:
    return git(repo, "log", "-1", "--format=%an <%ae>", commit)


def test_requests_that_stand_alone_are_answered_by_either_server(
    servers: list[Served], knowledge: Path, git: Git
) -> None:
    steps: list[tuple[float, float | None, str | None]] = []

    async def show(done: float, total: float | None, words: str | None) -> None:
        steps.append((done, total, words))

    with gateway_before(servers, OF) as gateway, through(gateway, "ann-pw") as ann:
        assert "add_lesson" in ann.tools()
        for number in range(6):
            title = f"Quagga {number}"
            made = ann.call("add_lesson", title=title, content="C", anyway=True)
            assert author(git, knowledge, made["commit"]) == ANN.author
            before = len(gateway.asked)
            found = ann.call("search", query="quagga", limit=20)["lessons"]
            assert title in {hit["title"] for hit in found}
            assert gateway.asked[before - 1] != gateway.asked[before]
        # progress comes with the answer, and nothing is asked that another server would have to know
        taken = ann.ask(
            ann.client.call_tool,
            "add_resource",
            {"type": "doc", "path": str(knowledge.parent / "callers"), "recursive": True},
            progress_callback=show,
        )
        assert not taken.is_error
        assert len(taken.structured_content["written"]) == 30
        assert author(git, knowledge, taken.structured_content["commit"]) == ANN.author
        assert steps
        assert [done for done, _, _ in steps] == sorted(done for done, _, _ in steps)
        assert "Quagga 1" in ann.fails("add_lesson", title="Quagga 1", content="C")
        assert [ann.call("search", **GAP)["prompt"] for _ in range(4)] == ["", "", "", ""]
    assert set(gateway.asked) == {0, 1}
    assert git(knowledge, "log", "--format=%an", "--author", "Eve") == ""


def test_older_clients_keep_their_session_where_a_person_keeps_a_server(
    servers: list[Served], knowledge: Path
) -> None:
    asked: list[str] = []

    async def answer(_context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"keep": True})

    with gateway_before(servers, OF, sticky=True) as gateway:
        with (
            through(gateway, "ann-pw", mode="legacy", elicitation_callback=answer) as ann,
            through(gateway, "bo-pw", mode="legacy") as bo,
        ):
            prompts = [agent.call("search", **GAP)["prompt"] for agent in (ann, ann, bo, bo)]
            assert prompts == [PROMPT, "", PROMPT, ""]
            lesson = {"title": "Quagga of the zoo", "content": "It is striped in front alone."}
            ann.call("add_lesson", **lesson)
            assert ann.call("add_lesson", **lesson)["commit"]
            assert len(asked) == 1
        assert set(gateway.asked) == {0, 1}
    with (
        gateway_before(servers, OF) as turning,
        pytest.raises(ExceptionGroup) as lost,
        through(turning, "ann-pw", mode="legacy") as ann,
    ):
        ann.tools()
    assert lost.group_contains(MCPError, match="Session not found")


def test_two_people_write_at_once_over_two_servers_and_never_in_each_others_name(
    knowledge: Path, git: Git
) -> None:
    """Each server, a process of its own, also commits what the other one has noted."""
    write_settings()
    begin = threading.Barrier(4, timeout=PATIENCE)

    def write(password: str, numbers: range) -> dict[str, Person]:
        made = {}
        with through(gateway, password) as agent:
            begin.wait()
            for number in numbers:
                title = f"{OF[password].name.split()[0]} {number}"
                done = agent.call("add_lesson", title=title, content="C", anyway=True)
                made[done["id"]] = OF[password]
        return made

    jobs = [(password, part) for password in OF for part in (range(12), range(12, 24))]
    made: dict[str, Person] = {}
    with (
        serving("--http", "127.0.0.1:0") as one,
        serving("--http", "127.0.0.1:0") as other,
        gateway_before([one, other], OF) as gateway,
        ThreadPoolExecutor(len(jobs)) as pool,
    ):
        for part in pool.map(write, *zip(*jobs, strict=True)):
            made |= part
    assert len(made) == 48
    assert min(gateway.asked.count(0), gateway.asked.count(1)) >= 24
    row = "--format=%an <%ae>|%cn|%s|%(trailers:key=Entry,valueonly)"
    rows = [line.split("|") for line in git(knowledge, "log", row).splitlines() if line]
    by_entry = {entry: (name, committer, subject) for name, committer, subject, entry in rows}
    for entry, person in made.items():
        name, committer, subject = by_entry[entry]
        assert (name, committer) == (person.author, "Test Person")
        assert subject.startswith(f"Add lesson: {person.name.split()[0]} ")
    assert git(knowledge, "fsck", "--strict") == ""
    assert git(knowledge, "status", "--porcelain") == ""
    (log,) = (Path.home() / ".local/state/ai-lessons/calls").iterdir()
    lines = [line.split(" ") for line in log.read_text().splitlines()]
    assert sorted((who, tool, code) for _, who, tool, code in lines) == sorted(
        (person.email, "add_lesson", "0") for person in OF.values() for _ in range(24)
    )
    assert os.stat(log).st_mode & 0o077 == 0
