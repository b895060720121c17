"""What is taken for a secret, and how it is refused."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ai_lessons.app import editing, health
from ai_lessons.app.secrets import detectors, may_hold, secrets_in, without_suspects
from ai_lessons.errors import InvalidEntry, UsageError
from app.secret_world import FAKE, mark_of
from app.world import World, lesson


@pytest.mark.parametrize("name", FAKE)
def test_what_hooks_keep_of_a_failure_holds_no_secret(name: str) -> None:
    said = without_suspects(f"fatal: denied\nused token = {FAKE[name]} here\n")
    assert secrets_in(said) == []
    assert said.startswith("fatal: denied\n")


@pytest.mark.parametrize("name", FAKE)
def test_a_lesson_with_a_secret_is_refused_and_nothing_is_written(world: World, name: str) -> None:
    text = f"Seen in the log:\n\n    token = {FAKE[name]}\n"
    with pytest.raises(InvalidEntry, match="looks like") as told:
        world.add("A token", text)
    assert FAKE[name] not in str(told.value)
    assert told.value.problems[0].line > 3
    assert world.status() == ""
    assert world.titles() == []


ULIDS = st.text(alphabet="0123456789ABCDEFGHJKMNPQRSTVWXYZ", min_size=22, max_size=22)


@given(ULIDS, st.sampled_from(["A3T", "ACCA"]), st.integers(0, 18))
def test_an_id_is_no_key_whatever_letters_it_has(letters: str, mark: str, at: int) -> None:
    ulid = ("01" + letters[:at] + mark + letters[at:])[:26]
    assert secrets_in(f"---\nid: {ulid}\n---\n\nSee [[{ulid}]] and ({ulid}).\n") == []


def test_what_stands_around_a_key_makes_no_id_of_it() -> None:
    key = FAKE["AWS"]
    for text in (
        f"id: {key}",
        f"01M8A3T1HMQRM80CA43W4Q8Y4P {key}",
        f"0{key}012345",
        f"01M8A3T1HMQRM80CA43W4Q8Y4P{key}",
    ):
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


@pytest.mark.parametrize("text", EXAMPLES)
def test_what_is_no_secret_passes(world: World, text: str) -> None:
    assert world.add("An example", text).commit


def test_a_secret_may_stay_with_a_reason_and_without_one_it_may_not(world: World) -> None:
    with pytest.raises(InvalidEntry) as told:
        world.add("A token", FAKE["GitHub"])
    mark = mark_of(told.value)
    with pytest.raises(UsageError, match="reason"):
        world.add("A token", FAKE["GitHub"], allow_secrets=[(mark, " ")])
    made = world.add("A token", FAKE["GitHub"], allow_secrets=[(mark, "revoked: it is in the vendor's blog")])
    assert f"  - {mark}: " in world.read(made.path)
    assert health.validate(world.library).problems == ()
    with pytest.raises(InvalidEntry, match="AWS"):
        editing.update(world.library, made.id, content=FAKE["GitHub"] + "\n" + FAKE["AWS"])
    assert editing.update(world.library, made.id, confidence="low").commit


def test_a_secret_that_git_has_already_does_not_stop_another_change(world: World) -> None:
    world.write("p/lessons/a.md", lesson(body=FAKE["Slack"] + "\n"))
    with pytest.raises(InvalidEntry, match="Slack"):
        editing.update(world.library, "p/lessons/a.md", title="Another title")
    world.commit()
    assert editing.update(world.library, "p/lessons/a.md", title="Another title").commit
    (problem,) = health.validate(world.library).problems
    assert (problem.path, problem.line > 0) == ("p/lessons/a.md", True)
    assert "Slack" in problem.message
    assert FAKE["Slack"] not in problem.message


def test_a_page_of_a_folder_that_holds_a_secret_is_left_out_alone(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "good.md").write_text("# Good\n")
    (folder / "bad.md").write_text(f"# Bad\n\n{FAKE['Stripe']}\n")
    came = world.bring(folder, recursive=True)
    assert world.titles() == ["Good"]
    ((path, reason),) = came.skipped
    assert path.endswith("bad.md")
    assert "Stripe" in reason


PATTERNS = [pattern for detector in detectors() for pattern in detector.denylist]


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.parametrize("number", range(len(PATTERNS)))
@given(data=st.data())
def test_whatever_a_detector_finds_is_looked_at_closer(number: int, data: st.DataObject) -> None:
    assert may_hold(data.draw(st.from_regex(PATTERNS[number])))
