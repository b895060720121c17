"""Two people of a company with a forge that git speaks to over HTTP: the first sync, and those after it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ai_lessons import settings
from features.company.conftest import Place
from features.company.git_over_http import serving_git
from interfaces.world import Outcome, environment, run_inside
from real_world import Git, put_file, put_program

START = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "first"}


@dataclass(frozen=True)
class Company:
    """A forge with a repository of knowledge, in which one rule is in force, and one of code."""

    forge: Path
    host: str
    git: Git

    def employee(self, name: str) -> Path:
        """The home folder of a person with a clone of the code and nothing else."""
        home = self.forge.parent / name
        put_file(home / ".gitconfig", f"[user]\n\tname = {name}\n\temail = {name}@acme.example\n"
                 "[init]\n\tdefaultBranch = main\n")  # fmt: skip
        self.git(home, "clone", "-q", f"http://{self.host}/acme/shop.git", str(home / "shop"))
        return home

    @property
    def url(self) -> str:
        return f"http://{self.host}/acme/knowledge.git"


Ours = Callable[..., Outcome]


def ours(home: Path, *words: str, at: str = "shop", stdin: str = "") -> Outcome:
    """Run `ai-lessons` as the person of this home, in their code."""
    return run_inside(words, home / at, stdin, HOME=str(home), AI_LESSONS_OFFLINE="1")


def told(home: Path) -> str:
    """What an agent is told when a session starts in the code."""
    event = json.dumps({**START, "cwd": str(home / "shop")})
    return ours(home, "admin", "agent-hook", stdin=event).out


@pytest.fixture
def company(tmp_path: Path, git: Git, place: Place) -> Iterator[Company]:
    forge = tmp_path / "forge"
    for name in ("shop", "knowledge"):
        folder = forge / f"acme/{name}.git"
        folder.mkdir(parents=True)
        git(folder, "init", "-q", "--bare", "-b", "main")
    curator = tmp_path / "curator"
    assert run_inside(["admin", "init", str(curator)], tmp_path).code == 0
    git(curator, "remote", "add", "origin", str(forge / "acme/knowledge.git"))
    suggest = ["contribute", "suggest-rule", "--title", "Send a cart whole", "--rationale", "PUT replaces it"]  # fmt: skip
    assert run_inside(["--repo", ".", *suggest, "--approve", "--yes"], curator).code == 0
    assert run_inside(["--repo", ".", "admin", "sync"], curator).code == 0
    with serving_git(forge) as host:
        place(f'[enterprise.acme]\nsync_url = "http://{host}/acme/knowledge.git"\n'
              f'owners = ["{host}/acme"]\n')  # fmt: skip
        yield Company(forge, host, git)


def test_one_sync_brings_the_companys_rules_to_a_new_person(company: Company) -> None:
    ann = company.employee("ann")
    done = ours(ann, "sync")
    assert (done.code, done.err.count("error")) == (0, 0)
    assert (
        f"enterprise:acme: cloned from {company.url}: {ann}/.ai/enterprise/acme"
        in done.out.replace("~", str(ann))
    )
    assert f"your own repository is new: {ann}/.ai/reference" in done.err
    assert "Send a cart whole" in told(ann)
    assert "Send a cart whole" in ours(ann, "search", "cart").out
    states = {row["tier"]: row["state"] for row in ours(ann, "admin", "tiers", "--json").json}
    assert states == {"user": "writes", "enterprise:acme": "reads", "project": "not here"}


def test_hooks_and_searches_clone_nothing(company: Company) -> None:
    ann = company.employee("ann")
    ours(ann, "admin", "init", str(ann / ".ai/reference"))
    assert told(ann)
    found = ours(ann, "search", "cart")
    assert "without the enterprise:acme tier" in found.err
    assert "ai-lessons admin sync" in found.err
    assert not (ann / ".ai/enterprise").exists()
    lines = ours(ann, "admin", "status").out.splitlines()
    row = next(row for row in lines if "company" in row)
    assert "it is not on this machine yet" in row


def test_what_one_person_proposes_another_gets_by_the_next_sync(
    company: Company, git: Git, tmp_path: Path
) -> None:
    ann, bo = company.employee("ann"), company.employee("bo")
    for person in (ann, bo):
        assert ours(person, "sync").code == 0
    added = ours(ann, "contribute", "add-lesson", "--title", "A coupon counts once",
                 "--content", "Per order.", "--json")  # fmt: skip
    promoted = ours(ann, "contribute", "promote", added.json["handle"], "--to", "enterprise:acme")
    assert promoted.code == 0, promoted.err
    assert ours(ann, "sync").code == 0
    curator = tmp_path / "curator"
    assert run_inside(["--repo", ".", "admin", "sync"], curator).code == 0
    (waiting,) = run_inside(["--repo", ".", "admin", "pending-rules", "--json"], curator).json
    approve = ["--repo", ".", "admin", "approve-rule", waiting["handle"], "--yes"]
    assert run_inside(approve, curator).code == 0
    assert run_inside(["--repo", ".", "admin", "sync"], curator).code == 0
    assert "A coupon counts once" not in ours(bo, "search", "coupon").out
    done = ours(bo, "sync")
    assert "enterprise:acme: origin/main: " in done.out
    assert "A coupon counts once" in ours(bo, "search", "coupon").out


def test_a_sync_shares_the_persons_own_repository_and_the_companys(
    company: Company, git: Git
) -> None:
    ann = company.employee("ann")
    ours(ann, "sync")
    backup = ann / "backup.git"
    git(ann, "init", "-q", "--bare", str(backup))
    git(ann / ".ai/reference", "remote", "add", "origin", str(backup))
    done = ours(ann, "sync")
    assert done.code == 0
    assert "origin/main: 0 commits came in, 1 commit went out." in done.out
    assert "enterprise:acme, origin/main: 0 came in, 0 went out" in done.err


def test_managed_settings_clone_what_is_missing_and_nothing_else(
    company: Company, git: Git
) -> None:
    ann = company.employee("ann")
    assert ours(ann, "sync", "--first").code == 0
    assert "Send a cart whole" in told(ann)
    place = ann / ".ai/enterprise/acme"
    before = git(place, "rev-parse", "HEAD")
    commit = ["commit", "--allow-empty", "-q", "-m", "later"]
    git(company.forge.parent / "curator", *commit)
    git(company.forge.parent / "curator", "push", "-q", "origin", "main")
    again = ours(ann, "sync", "--first")
    assert (again.code, again.out, again.err) == (0, "", "")
    assert git(place, "rev-parse", "HEAD") == before
    elsewhere = run_inside(["sync", "--first"], ann, HOME=str(ann))
    assert (elsewhere.code, elsewhere.out) == (0, "")


def test_a_project_with_entries_of_its_own_in_its_code_gets_the_companys(company: Company) -> None:
    ann = company.employee("ann")
    assert ours(ann, "--tier", "project", "admin", "init").code == 0
    done = ours(ann, "sync")
    assert (done.code, done.out[:29]) == (0, "enterprise:acme: cloned from ")
    assert ours(ann, "sync").out.startswith("enterprise:acme: Nothing new")
    assert not (ann / ".ai/reference").exists()
    assert "Send a cart whole" in told(ann)


def test_a_tier_that_is_named_is_synced_alone(company: Company) -> None:
    ann = company.employee("ann")
    assert ours(ann, "--tier", "user", "sync").code == 3
    assert not (ann / ".ai/enterprise").exists()


def test_without_the_network_the_first_sync_says_so_and_the_next_one_does_it(
    company: Company, git: Git, place: Place
) -> None:
    ann = company.employee("ann")
    ours(ann, "admin", "init", str(ann / ".ai/reference"))
    stated = settings.ADMINISTRATORS.read_text()
    place(stated.replace(f"http://{company.host}/acme/know", "http://127.0.0.1:1/acme/know"))
    done = ours(ann, "sync")
    assert done.code == 7
    assert "http://127.0.0.1:1/acme/knowledge.git was not cloned" in done.err
    assert "then: ai-lessons admin sync" in done.err
    assert not any((ann / ".ai/enterprise").iterdir())
    # what is written here goes out all the same
    backup = ann / "backup.git"
    git(ann, "init", "-q", "--bare", str(backup))
    git(ann / ".ai/reference", "remote", "add", "origin", str(backup))
    done = ours(ann, "sync")
    assert done.code == 7
    assert "1 commit went out" in done.out
    place(stated)
    assert ours(ann, "sync").code == 0
    assert "Send a cart whole" in told(ann)


def test_a_clone_that_is_there_in_another_form_of_the_address_is_taken(
    company: Company, git: Git
) -> None:
    ann = company.employee("ann")
    place = ann / ".ai/enterprise/acme"
    git(ann, "clone", "-q", company.url.replace("http://", "http://ann@"), str(place))
    assert ours(ann, "sync").code == 0
    assert "Send a cart whole" in told(ann)


@pytest.mark.parametrize("what", ["clone", "folder", "file"])
def test_something_else_in_its_place_is_left_alone(company: Company, git: Git, what: str) -> None:
    ann = company.employee("ann")
    place = ann / ".ai/enterprise/acme"
    if what == "clone":
        git(ann, "clone", "-q", f"http://{company.host}/acme/shop.git", str(place))
    elif what == "folder":
        put_file(place / "mine.txt", "mine")
    else:
        put_file(place, "mine")
    done = ours(ann, "sync")
    assert done.code == 5
    assert f"{place} is there and is not a clone of" in done.err
    assert "name another place in your config.toml" in done.err
    put_file(ann / ".config/ai-lessons/config.toml", '[enterprise.acme]\npath = "~/acme"\n')
    assert ours(ann, "sync").code == 0
    assert (ann / "acme/.ai-lessons/config.yaml").is_file()


def test_a_company_without_an_address_is_named(company: Company, place: Place) -> None:
    ann = company.employee("ann")
    place(f'[enterprise.acme]\nowners = ["{company.host}/acme"]\n')
    done = ours(ann, "sync")
    assert done.code == 3
    assert "no address of 'enterprise:acme'" in done.err
    assert "sync_url in " in done.err


def test_a_person_whom_git_does_not_know_reads_all_the_same(company: Company) -> None:
    ann = company.employee("ann")
    put_file(ann / ".gitconfig", "[user]\n\tuseConfigOnly = true\n")
    done = ours(ann, "sync")
    assert done.code == 0
    assert "git does not know who you are" in done.err
    assert "Send a cart whole" in told(ann)


PROGRAM = """
import sys
from pathlib import Path
from ai_lessons import settings
from ai_lessons.features.company import administrators
settings.ADMINISTRATORS, uid = Path(sys.argv.pop(1)), int(sys.argv.pop(1))
administrators.PLACERS = frozenset({0, uid})
from ai_lessons.__main__ import main
main()
"""


def test_a_clone_that_ctrl_c_ends_leaves_nothing_and_is_made_anew(
    company: Company, tmp_path: Path
) -> None:
    ann = company.employee("ann")
    # a git that never comes to an end once half of the clone is there
    real, begun = shutil.which("git"), tmp_path / "begun"
    stuck = put_program(tmp_path / "bin/git", f"""#!/bin/sh
for word; do
    if [ "$word" = clone ]; then
        for folder; do :; done
        mkdir -p "$folder/.git/objects" && : > "$folder/.git/HEAD" && : > "{begun}"
        exec sleep 600
    fi
done
exec {real} "$@"
""")  # fmt: skip
    environ = environment(HOME=str(ann), PATH=f"{stuck.parent}:{os.environ['PATH']}")
    words = [sys.executable, "-c", PROGRAM, str(settings.ADMINISTRATORS), str(os.getuid()), "sync"]
    process = subprocess.Popen(words, cwd=ann / "shop", env=environ, stderr=subprocess.PIPE)
    with process:
        while not begun.exists():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert list((ann / ".ai/enterprise").iterdir()) == []
    assert ours(ann, "sync").code == 0
    assert "Send a cart whole" in told(ann)


def test_of_two_first_syncs_at_once_one_clones_and_both_end_well(
    company: Company, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = company.employee("ann")
    # a git during whose clone another process makes the same
    real, there = shutil.which("git"), ann / ".ai/enterprise/acme"
    put_program(tmp_path / "bin/git", f"""#!/bin/sh
case " $* " in *" clone "*)
    [ -e "{there}" ] || {real} clone -q "{company.url}" "{there}";;
esac
exec {real} "$@"
""")  # fmt: skip
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert ours(ann, "sync").code == 0
    assert "Send a cart whole" in told(ann)
    assert [file.name for file in there.parent.iterdir()] == ["acme"]


def test_what_a_killed_clone_left_is_no_repository_and_goes_away(company: Company) -> None:
    ann = company.employee("ann")
    left = put_file(ann / ".ai/enterprise/.ai-lessons-clone-x/acme/.git/HEAD", "").parents[2]
    os.utime(left, (0, 0))
    assert ours(ann, "sync").code == 0
    assert sorted(file.name for file in (ann / ".ai/enterprise").iterdir()) == ["acme"]
