"""What is written over a gateway is the person's; nothing that a person or an agent cannot do becomes possible."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from features.gateway.gateway_world import (
    ANN,
    BO,
    Person,
    config_file,
    write_settings,
)
from interfaces.http_world import Served, serving, serving_inside, with_headers
from interfaces.mcp_world import Agent, connected
from interfaces.world import LESSON, RULE, SCRIPT, Run
from real_world import Git, put_file

SERVER = "Test Person <person@example.com>"
PEOPLE = "--format=%an <%ae>|%cn <%ce>"


def calls() -> list[list[str]]:
    """Address, tool and code of each call in the log."""
    (file,) = (Path.home() / ".local/state/ai-lessons/calls").iterdir()
    return [line.split(" ")[1:] for line in file.read_text().splitlines()]


def test_an_entry_is_by_the_person_committed_by_the_server_and_noted_in_the_log(
    knowledge: Path, git: Git
) -> None:
    write_settings()
    with (
        serving("--http", "127.0.0.1:0", "--tools", "all") as gated,
        connected(with_headers(gated.url, ANN.sent())) as ann,
        connected(with_headers(gated.url, BO.sent()), mode="legacy") as bo,
    ):
        by_ann = ann.call("add_lesson", title="Quagga", content="C")
        by_bo = bo.call("add_lesson", title="Zebra", content="C")
        assert bo.call("search", query="quagga")["lessons"][0]["id"] == by_ann["id"]
        rule = bo.call("suggest_rule", title="Ask first", rationale="R", content="C")
        assert "no entry" in ann.fails("get_resource", resource_id="D-NOTHERE")
        assert "wrong arguments" in ann.fails("add_lesson", content="a secret text")
        assert ann.ask(ann.client.list_resources).resources
    for made, person in ((by_ann, ANN), (by_bo, BO), (rule, BO)):
        assert git(knowledge, "log", "-1", PEOPLE, made["commit"]) == f"{person.author}|{SERVER}"
        assert "Agent: mcp" in git(knowledge, "log", "-1", "--format=%b", made["commit"])
    assert git(knowledge, "fsck", "--strict") == ""
    assert calls() == [
        [ANN.email, "add_lesson", "0"],
        [BO.email, "add_lesson", "0"],
        [BO.email, "search", "0"],
        [BO.email, "suggest_rule", "0"],
        [ANN.email, "get_resource", "3"],
        [ANN.email, "add_lesson", "1"],
        [ANN.email, "resources/list", "0"],
    ]


def test_of_writes_at_the_same_time_each_is_by_who_made_it(
    gated: Served, knowledge: Path, git: Git
) -> None:
    """Two people with two connections each, of both kinds, all at once, on one server."""

    def write(person: Person, mode: str, numbers: range) -> dict[str, Person]:
        with connected(with_headers(gated.url, person.sent()), mode=mode) as agent:
            made = {}
            for number in numbers:
                title = f"{person.name.split()[0]} {number} {mode}"
                made[agent.call("add_lesson", title=title, content="C", anyway=True)["id"]] = person
            return made

    parts = [
        (person, mode, numbers)
        for person in (ANN, BO)
        for mode, numbers in (("auto", range(8)), ("legacy", range(8, 16)))
    ]
    with ThreadPoolExecutor(len(parts)) as pool:
        made: dict[str, Person] = {}
        for part in pool.map(write, *zip(*parts, strict=True)):
            made |= part
    assert len(made) == 32
    rows = git(knowledge, "log", "--format=%an <%ae>|%cn <%ce>|%s|%(trailers:key=Entry,valueonly)")
    by_entry = {}
    for row in filter(None, rows.splitlines()):
        people, _, entry = row.rpartition("|")
        by_entry[entry] = people
    for entry, person in made.items():
        author, committer, subject = by_entry[entry].split("|")
        assert (author, committer) == (person.author, SERVER)
        assert subject.startswith(f"Add lesson: {person.name.split()[0]} ")
    assert [who for who, _, _ in calls()].count(ANN.email) == 16
    assert [who for who, _, _ in calls()].count(BO.email) == 16


def test_no_name_over_a_header_approves_a_rule(
    knowledge: Path, proposal: str, run: Run, git: Git
) -> None:
    """Names of forges, of the server's own person and of approvers; titles that read as merges."""
    write_settings()
    owner = Person("Test Person", "person@example.com")
    forge = Person("GitHub", "noreply@github.com")
    titles = (
        "Merge pull request #7 from acme/rules (#7)",
        f"Approve rule: GET a workflow before you PUT it\n\nApproves: {RULE}",
    )
    with serving_inside() as served:
        for person in (owner, forge, ANN):
            with connected(with_headers(served.url, person.sent())) as agent:
                assert not [tool for tool in agent.tools() if "approve" in tool or "merge" in tool]
                for title in titles:
                    suggested = agent.call(
                        "suggest_rule", title=title.replace("\n", " "), rationale=title, content="C"
                    )
                    assert suggested["branch"].startswith("rules/")
                    agent.call(
                        "add_lesson", title=title.replace("\n", " "), content=title, anyway=True
                    )
                assert agent.call("context", project="jira-api")["rules"] == []
                waiting = {row["id"] for row in agent.call("list_pending")["pending"]}
                assert RULE in waiting
    for policy in ("merge", "forge"):
        put_file(
            knowledge / ".ai-lessons/config.yaml",
            f"format: 1\napproval:\n  require: {policy}\n  distinct: true\n",
        )
        git(knowledge, "add", ".ai-lessons")
        git(knowledge, "commit", "-qm", "policy", "--no-verify")
        assert run("recall", "list", "--type", "rule", "--json").json == []
    # the server, and who has its name, committed the text: the policy asks for another person
    put_file(knowledge / ".ai-lessons/config.yaml", "format: 1\napproval:\n  distinct: true\n")
    git(knowledge, "commit", "-qam", "policy", "--no-verify")
    by_ann = suggested["handle"]
    assert "Test Person committed this" in run("admin", "approve-rule", by_ann, "--yes").err
    git(knowledge, "config", "user.email", ANN.email)
    assert "Test Person wrote this" in run("admin", "approve-rule", by_ann, "--yes").err
    git(knowledge, "config", "user.email", "curator@acme.example")
    assert run("admin", "approve-rule", by_ann, "--yes").code == 0
    (rule,) = run("recall", "list", "--type", "rule", "--json").json
    assert rule["handle"] == by_ann


def test_who_is_named_over_a_header_is_an_agent_all_the_same(
    gated: Served, knowledge: Path, git: Git, run: Run
) -> None:
    owner = Person("Test Person", "person@example.com")
    source = put_file(Path.home() / "notes.md", "# Notes of the account\n")
    assert run("contribute", "add-resource", "--type", "doc", source).code == 0
    (doc,) = run("recall", "search", "notes of the account", "--json").json["docs"]
    source.write_text("# Notes of the account\n\nMore.\n")
    put_file(
        knowledge / "global/lessons/firm-8F3K2B.md",
        f"---\nid: {LESSON[:-1]}B\nkind: lesson\ntitle: Stand still\nfrom: user\n---\nAlways.\n",
    )
    git(knowledge, "add", "-A")
    git(knowledge, "commit", "-qm", "By a person")
    before = git(knowledge, "rev-parse", "HEAD")
    with connected(with_headers(gated.url, owner.sent())) as agent:
        for tool, arguments in (
            ("mark_wrong", {"id": f"{LESSON[:-1]}B", "reason": "R"}),
            ("mark_wrong", {"id": LESSON, "reason": "R"}),
            ("run_script", {"resource_id": SCRIPT}),
        ):
            text = agent.fails(tool, **arguments)
            assert "a person" in text or "trust" in text, text
        for path in (knowledge / "README.md", config_file(), "/etc/hostname", "README.md"):
            assert "reads no files" in agent.fails("add_resource", type="doc", path=str(path)), path
        # a doc whose source is a file of the account, added by who has the account
        assert "reads no files" in agent.fails("refresh_resource", resource_id=doc["id"])
        made = agent.call("add_lesson", title="Quagga", content="C")
    assert git(knowledge, "rev-parse", f"{made['commit']}^") == before
    stored = git(knowledge, "show", f"{made['commit']}:{made['path']}")
    assert "from: ai" in stored


def test_an_edit_that_lay_on_the_disk_is_not_of_who_asks(
    gated: Served, knowledge: Path, git: Git
) -> None:
    notes = knowledge / "jira-api/notes.md"
    notes.write_text("# Plain notes\n\nEdited by the account.\n")
    with connected(with_headers(gated.url, ANN.sent())) as ann:
        ann.call("add_lesson", title="Quagga", content="C")
    assert git(knowledge, "log", "--format=%an", "--author", ANN.name, "--", "jira-api") == ""


def test_where_nothing_is_committed_and_where_the_server_has_no_name_nothing_is_written(
    knowledge: Path, git: Git, tmp_path: Path
) -> None:
    write_settings()
    code = tmp_path / "code"
    put_file(code / ".ai/reference/README.md", "# Knowledge\n")
    git(code.parent, "init", "-q", str(code))
    git(code, "add", "-A")
    git(code, "commit", "-qm", "first")
    with (
        serving_inside(repo=str(code / ".ai/reference")) as served,
        connected(with_headers(served.url, ANN.sent())) as ann,
    ):
        assert "the name of the author would be lost" in ann.fails(
            "add_lesson", title="Quagga", content="C"
        )
        assert git(code, "status", "--porcelain") == ""
    (Path.home() / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    with (
        serving_inside() as served,
        connected(with_headers(served.url, ANN.sent())) as ann,
    ):
        assert "git does not know who you are" in ann.fails(
            "add_lesson", title="Quagga", content="C"
        )
        assert git(knowledge, "status", "--porcelain") == ""


def people_of(agent: Agent) -> set[str]:
    found = agent.call("search", query="quagga", limit=50)["lessons"]
    return {hit["title"] for hit in found}


def test_each_person_has_the_shared_tier_and_their_own_and_nobody_elses(
    knowledge: Path, tmp_path: Path, run: Run, git: Git
) -> None:
    people = tmp_path / "people"
    account = Path.home() / ".ai/reference"
    for folder in (people / ANN.email, people / BO.email, account):
        assert run("admin", "init", folder).code == 0
    write_settings(f'people = "{people}"\n', above=f'[enterprise]\nacme = "{knowledge}"\n')
    put_file(account / "global/lessons/mine.md", "# The quagga of the account\n")
    eve = Person("Eve", "eve@acme.example")
    with serving_inside(tier="enterprise:acme") as served:
        agents = {}
        for person in (ANN, BO, eve):
            with connected(with_headers(served.url, person.sent())) as agent:
                agents[person] = agent.call(
                    "add_lesson", title=f"The quagga of {person.name}", content="C"
                )
        with (
            connected(with_headers(served.url, ANN.sent())) as ann,
            connected(with_headers(served.url, BO.sent())) as bo,
            connected(with_headers(served.url, eve.sent())) as other,
        ):
            shared = "The quagga of Eve"
            for _ in range(3):
                assert people_of(ann) == {"The quagga of Ann Example", shared}
                assert people_of(bo) == {"The quagga of Bo Müller", shared}
                assert people_of(other) == {shared}
            listed = {str(row.title) for row in bo.ask(bo.client.list_resources).resources}
            assert "The quagga of Bo Müller" in listed
            assert "The quagga of Ann Example" not in listed
            hidden = agents[ANN]["id"]
            assert "no entry" in bo.fails("get_resource", resource_id=hidden)
            assert "no entry" in bo.fails("related", id=hidden)
            assert "no entry" in bo.fails("record_outcome", id=hidden, outcome="helpful")
            path = str(people / ANN.email / agents[ANN]["path"])
            assert "no entry" in bo.fails("get_resource", resource_id=path)
            proposed = ann.call("promote", id=hidden, to="enterprise:acme", reason="R")
            assert proposed["outcome"] == "proposed"
            assert "no tier" in other.fails("promote", id=agents[eve]["id"], to="user")
            assert str(account) not in bo.reads("stats") + bo.reads("search", query="quagga")
    for person, where in ((ANN, people / ANN.email), (BO, people / BO.email), (eve, knowledge)):
        made = agents[person]["commit"]
        assert git(where, "log", "-1", PEOPLE, made) == f"{person.author}|{SERVER}"
    branch = proposed["proposal"]["branch"]
    assert git(knowledge, "log", "-1", PEOPLE, branch) == f"{ANN.author}|{SERVER}"


def test_where_nothing_is_shared_each_has_their_own_or_nothing(
    knowledge: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AI_LESSONS_REPO")
    people = tmp_path / "people"
    for folder in (people / ANN.email, Path.home() / ".ai/reference"):
        assert run("admin", "init", folder).code == 0
    write_settings(f'people = "{people}"\n')
    with (
        serving_inside() as served,
        connected(with_headers(served.url, ANN.sent())) as ann,
        connected(with_headers(served.url, BO.sent())) as bo,
    ):
        made = ann.call("add_lesson", title="Quagga", content="C")
        assert (people / ANN.email / made["path"]).exists()
        for tool, arguments in (
            ("search", {"query": "quagga"}),
            ("add_lesson", {"title": "T", "content": "C"}),
        ):
            assert "there is no repository for you here" in bo.fails(tool, **arguments)
        assert bo.ask(bo.client.list_resources).resources == []
