"""No job of ours brings a secret into git, whichever way its text came."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ai_lessons.app import (
    editing,
    lessons,
    linking,
    pending_rules,
    proposals,
    repository_settings,
    review,
    secrets,
    sharing,
    validation,
)
from ai_lessons.app.secrets import detectors, may_hold, secrets_in, without_suspects
from ai_lessons.app.setup import init_repository
from ai_lessons.app.written import LessonDraft, RuleDraft
from ai_lessons.errors import InvalidEntry, Refused, UsageError
from ai_lessons.model.events import HELPFUL, Event
from ai_lessons.search import catalog
from app.world import LESSON, OTHER, World, lesson, rule

# made up, and put together so that no scanner finds them
RANDOM = "q7Zk3Xw9Rt5Lm1Vb8Nc4Hs6Jd2Fg0PyTaUeWoQiKx"
FAKE = {
    "GitHub": "gh" + "p_" + RANDOM[:36],
    "GitHub, fine-grained": "github" + "_pat_" + RANDOM + RANDOM,
    "GitLab": "gl" + "pat-" + RANDOM[:20],
    "Slack": "xox" + "b-123456789012-1234567890123-" + RANDOM[:24],
    "Stripe": "sk" + "_live_" + RANDOM[:24],
    "AWS": "AK" + "IA" + "Q7ZK3XW9RT5LM1VB",
    "SendGrid": "S" + "G." + RANDOM[:22] + "." + (RANDOM * 2)[:43],
    "Anthropic": "sk-" + "ant-api03-" + RANDOM,
    "Google": "AI" + "za" + RANDOM[:35],
    "Hugging Face": "h" + "f_" + RANDOM[:34],
    "private key": "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA" + RANDOM + "\n",
    "Azure": "Account" + "Key=" + (RANDOM * 3)[:86] + "==",
    "PyPI": "pypi-" + "AgEIcHlwaS5vcmc" + RANDOM * 2,
    "Twilio": "S" + "K0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    "URL": "git clone https://" + f"bob:{RANDOM[:12]}@git.example.com/shop.git",
    "database": "postgresql+psycopg://" + f"app:p%40ss-{RANDOM[:5]}@db:5432/shop",
    "Telegram": "123456789:" + "AA" + RANDOM[:33],
    "AWS, its secret half": "AWS_SECRET" + f"_ACCESS_KEY={RANDOM[:40]}",
    "AWS, in JSON": '"Secret' + f'AccessKey": "{RANDOM[:40]}",',
    "AWS, in two lines": "aws_secret" + f"_access_key: >-\n  {RANDOM[:40]}",
    "AWS, in a script": "aws_secret" + f'_key = \\\n    "{RANDOM[:40]}"',
    "Azure, an app": "q7Z8" + "Q~" + RANDOM[:34],
    "Azure, a bus": "Shared" + f"AccessKey={(RANDOM * 2)[:43]}=",
    "Google, OAuth": "GOC" + "SPX-" + RANDOM[:28],
    "DigitalOcean": "dop" + "_v1_" + "0a1b2c3d4e5f6071" * 4,
    "Alibaba": "LT" + "AI" + RANDOM[:20],
    "Databricks": "da" + "pi" + "0a1b2c3d4e5f6071" * 2,
    "Vault": "hv" + "s." + RANDOM[:24],
    "Docker": "dckr" + "_pat_" + RANDOM[:27],
    "Groq": "gs" + "k_" + (RANDOM * 2)[:52],
    "age": "AGE-SECRET" + "-KEY-1" + (RANDOM * 2)[:58].upper(),
}
KEY = FAKE["GitLab"]
SECRET = f"Log in with {KEY}\n"


def mark_of(error: InvalidEntry) -> str:
    return str(re.findall(r"\[([0-9a-f]{12}): REASON\]", error.problems[0].message)[0])


def in_git(world: World) -> bool:
    """Whether any commit, on whatever branch, holds the secret."""
    return bool(world.git(world.root, "log", "--all", "-S", KEY, "--format=%h"))


def edited(world: World) -> str:
    """A lesson in git, into which somebody wrote a secret since."""
    made = world.add("A lesson", "Text.")
    world.write(made.path, world.read(made.path) + SECRET)
    return made.path


JOBS: dict[str, Callable[[World], object]] = {
    "update": lambda w: editing.update(w.library, edited(w), content="Another text."),
    "retitle": lambda w: editing.update(w.library, edited(w), title="Another title"),
    "delete": lambda w: editing.delete(w.library, [edited(w)]),
    "move": lambda w: editing.update(w.library, edited(w), project="other"),
    "edit": lambda w: editing.edit(w.library, w.add("A lesson").id, lambda text, _: text + SECRET),
    "link": lambda w: linking.link(w.library, edited(w), w.add("Another lesson").id, "related_to"),
    "mark wrong": lambda w: lessons.wrong(w.library, w.add("A lesson").id, SECRET, by="user"),
    "adopt": lambda w: (
        w.write("notes/plain.md", f"# Plain\n\n{SECRET}"),
        validation.adopt(w.library, ["notes/plain.md"]),
    ),
    "suggest": lambda w: proposals.suggest_rule(w.library, RuleDraft("Use the key", SECRET)),
    "propose": lambda w: (w.write("p/rules/a.md", rule(SECRET)), proposals.propose(w.library)),
    "setting": lambda w: repository_settings.config_set(
        w.library, "search.index", f"s3://place/{KEY}"
    ),
}


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_no_job_brings_a_secret_into_git(world: World, job: Callable[[World], object]) -> None:
    world.add("There already")
    with pytest.raises(InvalidEntry, match="GitLab") as told:
        job(world)
    assert KEY not in str(told.value)
    assert not in_git(world)


def test_what_an_entry_may_hold_can_be_said_of_it_later_and_is_kept_where_it_moves(
    world: World,
) -> None:
    path, more = edited(world), f"{SECRET}{FAKE['Stripe']}\n"
    with pytest.raises(InvalidEntry) as told:
        editing.update(world.library, path, title="Another")
    made = editing.update(
        world.library, path, title="Another", allow_secrets=[(mark_of(told.value), "revoked")]
    )
    with pytest.raises(InvalidEntry, match="Stripe") as told:
        editing.update(world.library, made.id, content=more)
    editing.update(
        world.library, made.id, content=more, allow_secrets=[(mark_of(told.value), "a test key")]
    )
    assert validation.validate(world.library).problems == ()
    moved = editing.update(world.library, made.id, project="other")
    assert moved.path.startswith("other/")
    assert moved.commit


def test_a_rule_may_hold_a_secret_with_a_reason(world: World) -> None:
    world.add("A lesson")
    allow = [(secrets.fingerprint(KEY), "the vendor's sandbox")]
    made = proposals.suggest_rule(
        world.library, RuleDraft("Use the key", SECRET, allow_secrets=allow)
    )
    assert review.approve_rule(world.library, made.handle).commit


def test_a_proposal_that_holds_one_can_be_turned_down_and_its_text_is_not_kept(
    world: World,
) -> None:
    world.add("A lesson")
    made = proposals.suggest_rule(world.library, RuleDraft("Use the key", "It is there"))
    world.git(world.root, "switch", "-q", made.branch)
    world.committed(made.path, world.read(made.path) + SECRET, message="by hand")
    world.git(world.root, "switch", "-q", "main")
    with pytest.raises(InvalidEntry, match="GitLab"):
        review.approve_rule(world.library, made.handle)
    with pytest.raises(InvalidEntry, match="GitLab"):
        review.reject_rule(world.library, made.handle, reason=f"it has {KEY} in it")
    assert review.reject_rule(world.library, made.handle, reason="it has a key in it").commit
    assert world.git(world.root, "log", "-S", KEY, "main", "--format=%s") == ""


def test_mending_leaves_out_what_holds_a_secret_and_mends_the_rest(world: World) -> None:
    for name, body in (("bad", SECRET), ("good", "Text.\n")):
        head = f"id: {LESSON if name == 'bad' else OTHER}\nkind: doc\ntitle: {name}\nversions:\n  - v2\n"
        world.write(
            f"p/docs/v1/{name}.md", f"---\n{head}created: 2026-11-21T20:14:00Z\n---\n{body}"
        )
    report = validation.validate(world.library, fix=True)
    assert report.fixed == ("p/docs/v1/good.md -> p/docs/v2/good.md",)
    assert any("GitLab" in problem.message for problem in report.problems)
    assert not in_git(world)


def test_a_write_that_waits_is_looked_at_again_before_it_is_saved(world: World) -> None:
    world.add("The first")
    (world.root / ".git/MERGE_HEAD").write_text(world.git(world.root, "rev-parse", "HEAD") + "\n")
    made = world.add("Waits")
    assert made.commit is None
    text = world.read(made.path)
    world.write(made.path, text + SECRET)
    (world.root / ".git/MERGE_HEAD").unlink()
    with pytest.raises(InvalidEntry, match="GitLab"):
        sharing.save(world.library)
    assert not in_git(world)
    world.write(made.path, text)
    assert sharing.save(world.library)[0]


def test_what_was_committed_by_hand_is_not_shared(world: World, tmp_path: Path) -> None:
    world.git(tmp_path, "init", "-q", "--bare", "-b", "main", "up.git")
    world.git(world.root, "remote", "add", "origin", str(tmp_path / "up.git"))
    made = world.add("A lesson")
    assert sharing.sync(world.library).sent
    for text in (SECRET, ""):  # it stays in the history also where it was taken out again
        world.committed(made.path, world.read(made.path).replace(SECRET, "") + text)
        with pytest.raises(InvalidEntry, match="GitLab") as told:
            sharing.sync(world.library)
        assert KEY not in str(told.value)
        assert world.git(tmp_path / "up.git", "log", "-S", KEY, "--format=%h", "main") == ""
    editing.update(world.library, made.id, allow_secrets=[(mark_of(told.value), "revoked")])
    assert sharing.sync(world.library).sent == 3
    world.write("notes.txt", SECRET)  # no file of ours
    world.commit()
    assert sharing.sync(world.library).sent == 1
    allowed = f"allow_secrets:\n  - {mark_of(told.value)}: of the sandbox\n"
    world.committed("p/docs/unversioned/page.md", f"---\n{allowed}---\n# Page\n\n{SECRET}")
    assert sharing.sync(world.library).sent == 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that is no repository yet: one note, two files with a secret, and a script that may hold one."""
    root = tmp_path / "notes"
    (root / "shop/scripts/v1").mkdir(parents=True)
    (root / "fine.md").write_text("# Fine\n")
    (root / "secret.md").write_text(f"# Log in\n\n{SECRET}")
    (root / "shop/settings.ini").write_text(f"KEY={KEY}\n")
    script = root / "shop/scripts/v1/log-in.sh"
    script.write_text(f"#!/bin/sh\necho {KEY}\n")
    (script.parent / f"{script.name}.md").write_text(
        f"---\nallow_secrets:\n  - {secrets.fingerprint(KEY)}: of the sandbox\n---\n"
    )
    return root


LEFT = {"secret.md", "shop/settings.ini"}


def test_a_folder_becomes_a_repository_without_its_secrets(world: World, folder: Path) -> None:
    made = init_repository(folder, world.options, hooks=False)
    assert made.adopted == 3
    told = [note for note in made.notes if "left out of git" in note]
    assert {path for path in LEFT for note in told if path in note} == LEFT
    assert KEY not in "".join(made.notes)
    untracked = world.git(folder, "ls-files", "--others", "--exclude-standard").splitlines()
    assert set(untracked) == LEFT
    assert KEY in (folder / "secret.md").read_text()
    assert "log-in.sh" in world.git(folder, "ls-files")
    assert init_repository(folder, world.options, hooks=False).commit is None


def test_a_folder_with_a_staged_secret_waits_for_its_first_commit(
    world: World, folder: Path
) -> None:
    world.git(folder, "init", "-q")
    world.git(folder, "add", "secret.md")
    made = init_repository(folder, world.options, hooks=False)
    assert made.commit is None
    undo = next(note for note in made.notes if "rm --cached" in note)
    assert "secret.md" in undo
    world.git(folder, "rm", "-q", "--cached", "secret.md")
    assert init_repository(folder, world.options, hooks=False).commit
    assert "secret.md" not in world.git(folder, "ls-files")


def test_no_path_of_a_file_has_a_secret_and_no_error_repeats_it(world: World) -> None:
    jobs: tuple[Callable[[], object], ...] = (
        lambda: world.add("A lesson", project=KEY),
        lambda: proposals.suggest_rule(world.library, RuleDraft("Use it", "Because.", project=KEY)),
        lambda: world.add("A lesson", tags=[KEY]),
    )
    for job in jobs:
        with pytest.raises(InvalidEntry) as told:
            job()
        assert KEY not in str(told.value)
        assert KEY not in told.value.problems[0].path
    assert world.status() == ""
    assert not in_git(world)


def test_a_lesson_that_was_committed_at_such_a_path_can_be_changed(world: World) -> None:
    made = world.add("A lesson")
    path = made.path.replace("global/", f"{KEY}/")
    (world.root / path).parent.mkdir(parents=True)
    world.git(world.root, "mv", made.path, path)
    world.git(world.root, "commit", "-qm", "By hand")
    assert editing.update(world.library, path, title="Another").commit


def test_names_of_clients_and_sessions_reach_git_without_secrets(world: World) -> None:
    library = world.fresh(agent=f"agent {KEY}", session=KEY)
    made = editing.add_lesson(library, LessonDraft("A lesson"))
    proposals.suggest_rule(library, RuleDraft("A rule", "Because."))
    library.primary.events.record([Event("", "", HELPFUL, made.id)])
    sharing.save(world.library)
    log = world.git(world.root, "log", "--all", "--format=%B")
    assert "Agent: agent …" in log
    assert KEY not in log
    assert not [file for file in world.root.rglob("*.jsonl") if KEY in file.read_text()]
    assert not in_git(world)


def test_an_agent_allows_no_secret_and_a_person_is_named_for_it(world: World) -> None:
    allow = [(secrets.fingerprint(KEY), "a sandbox")]
    agent, draft = world.fresh(agent="a bot"), LessonDraft("A key", SECRET, allow_secrets=allow)
    with pytest.raises(Refused, match="an agent cannot allow") as refused:
        editing.add_lesson(agent, draft)
    assert "ask the user" in refused.value.hint
    assert world.status() == ""
    editing.add_lesson(world.fresh(), draft)
    author, message = (
        world.git(world.root, "log", "-1", f"--format={form}") for form in ("%an <%ae>", "%B")
    )
    assert f"Allowed-secret: {allow[0][0]} by {author}" in message
    with pytest.raises(Refused, match="an agent cannot allow"):
        proposals.suggest_rule(agent, RuleDraft("A key", "Because.", SECRET, allow_secrets=allow))


WRITES = ("store.apply(", "decisions.propose(", "decisions.amend(")
LOOKS = ("write_checks.refuse(", "gate.refuse(", "refuse_secrets(")


def test_nothing_of_the_library_writes_without_looking() -> None:
    """But for events, which are looked at when they are recorded."""
    functions = [
        (f"{file.stem}.{function.name}", ast.unparse(function))
        for file in Path(editing.__file__).parent.rglob("*.py")
        for function in ast.walk(ast.parse(file.read_text()))
        if isinstance(function, ast.FunctionDef)
    ]
    looking = {
        name.rpartition(".")[2] for name, text in functions if any(look in text for look in LOOKS)
    }
    looks = (*LOOKS, *(f"{name}(" for name in looking if name.startswith("_refuse")))
    writing = {name: text for name, text in functions if any(call in text for call in WRITES)}
    assert len(writing) >= 5
    assert [name for name, text in writing.items() if not any(look in text for look in looks)] == [
        "events.share"
    ]


# --- what is taken for a secret, and how it is refused ---


def test_what_hooks_keep_of_a_failure_holds_no_secret() -> None:
    for name, secret in FAKE.items():
        said = without_suspects(f"fatal: denied\nused token = {secret} here\n")
        assert secrets_in(said) == [], name
        assert said.startswith("fatal: denied\n")


def test_a_lesson_with_a_secret_is_refused_and_nothing_is_written(world: World) -> None:
    for name, secret in FAKE.items():
        with pytest.raises(InvalidEntry, match="looks like") as told:
            world.add("A token", f"Seen in the log:\n\n    token = {secret}\n")
        assert secret not in str(told.value), name
        assert told.value.problems[0].line > 3
    assert world.status() == ""
    assert world.titles() == []


ULIDS = st.text(alphabet="0123456789ABCDEFGHJKMNPQRSTVWXYZ", min_size=22, max_size=22)


@given(ULIDS, st.sampled_from(["A3T", "ACCA"]), st.integers(0, 18))
def test_an_id_is_no_key_whatever_letters_it_has(letters: str, mark: str, at: int) -> None:
    ulid = ("01" + letters[:at] + mark + letters[at:])[:26]
    assert secrets_in(f"---\nid: {ulid}\n---\n\nSee [[{ulid}]] and ({ulid}).\n") == []


def test_what_stands_around_a_key_makes_no_id_of_it() -> None:
    key, ulid = FAKE["AWS"], "01M8A3T1HMQRM80CA43W4Q8Y4P"
    for text in (f"id: {key}", f"{ulid} {key}", f"0{key}012345", f"{ulid}{key}"):
        assert [secret.value for secret in secrets_in(text)], text


EXAMPLES = (
    "AK" + "IAIOSFODNN7EXAMPLE",
    "gh" + "p_" + "x" * 36,
    "Set GITHUB_TOKEN=$TOKEN and go on.",
    "A file that begins with -----BEGIN RSA PRIVATE KEY----- holds a key.",
    "password: hunter2",
    "https://user:password@host/x and ssh://git@host:22/x and https://host:8080/a@b",
    "https://x-access-token:${TOKEN}@github.com/a/b and https://oauth2:YOUR_TOKEN@gitlab.com/a",
    "postgresql+psycopg2://scott:tiger@192.168.0.134:5432/test and scott:tiger@localhost",
    "amqp://guest:guest@localhost:5672// and redis://:p4-Zk3Xw9@127.0.0.1:6379/0 and pg://app:p4-Zk3Xw9@[::1]/x",
    "dynamodb://aws_access_key_id:aws_secret_access_key@region:port/table",
    "https://bob:password123@proxy.example.com/simple and mysql://app:my-secret-pw@db:3306/x",
    "postgres://postgres:postgres@localhost/x and http://<user>:<secret>@host",
    "https://user:he%2F%2Fo@pypi.company.com/simple shows how / is written",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0.SflKxwRJSMeKKF2QT4fw",
    "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "01JD3Z8QK5W7M2X9V4T68F3K2A",
    "non-us, SKIP, ACCESS, eyJust, us-east-1, multi-user",
)


def test_what_is_no_secret_passes(world: World) -> None:
    assert [secrets_in(text) for text in EXAMPLES] == [[]] * len(EXAMPLES)
    assert world.add("Examples", "\n\n".join(EXAMPLES)).commit


def test_a_secret_may_stay_with_a_reason_and_without_one_it_may_not(world: World) -> None:
    with pytest.raises(InvalidEntry) as told:
        world.add("A token", FAKE["GitHub"])
    mark = mark_of(told.value)
    with pytest.raises(UsageError, match="reason"):
        world.add("A token", FAKE["GitHub"], allow_secrets=[(mark, " ")])
    made = world.add(
        "A token", FAKE["GitHub"], allow_secrets=[(mark, "revoked: it is in the vendor's blog")]
    )
    assert f"  - {mark}: " in world.read(made.path)
    assert validation.validate(world.library).problems == ()
    with pytest.raises(InvalidEntry, match="AWS"):
        editing.update(world.library, made.id, content=FAKE["GitHub"] + "\n" + FAKE["AWS"])
    assert editing.update(world.library, made.id, confidence="low").commit


def test_a_secret_that_git_has_already_does_not_stop_another_change(world: World) -> None:
    world.write("p/lessons/a.md", lesson(body=FAKE["Slack"] + "\n"))
    with pytest.raises(InvalidEntry, match="Slack"):
        editing.update(world.library, "p/lessons/a.md", title="Another title")
    world.commit()
    assert editing.update(world.library, "p/lessons/a.md", title="Another title").commit
    (problem,) = validation.validate(world.library).problems
    assert (problem.path, problem.line > 0) == ("p/lessons/a.md", True)
    assert "Slack" in problem.message
    assert FAKE["Slack"] not in problem.message


PATTERNS = [pattern for detector in detectors() for pattern in detector.denylist]


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.parametrize("number", range(len(PATTERNS)))
@given(data=st.data())
def test_whatever_a_detector_finds_is_looked_at_closer(number: int, data: st.DataObject) -> None:
    assert may_hold(data.draw(st.from_regex(PATTERNS[number])))


def test_what_was_read_by_fewer_detectors_is_read_again() -> None:
    own = [pattern.pattern for pattern in detectors()[0].denylist]
    own += [secrets._NAMED_KEY.pattern, secrets._URL.pattern, *secrets._DETECTORS]
    marks = secrets.fingerprint("\n".join(own))
    # Another hash here means a higher VERSION of the catalog: a search must not show from its
    # tables what is masked since
    assert marks == "ca4314bd52f5"
    assert catalog.VERSION >= 28


def test_a_proposal_shows_no_secret_and_says_that_it_holds_one(world: World) -> None:
    world.write("p/rules/r.md", rule(f"Log in with {KEY}.\n"))
    world.commit("By hand")
    (pending,) = pending_rules.pending_rules(world.library)
    assert "+Log in with …." in pending.diff
    assert KEY not in str(pending)
    assert "holds what looks like a secret: masked here" in pending.conflicts
